#include "scheduler/plugins/dynamicresources/allocator/selectors.h"

#include <algorithm>

namespace koord::scheduler::dra {

const Result<std::shared_ptr<const CompiledSelector>>& Selector::compiled() const {
  if (!compiled_) compiled_ = compiler_.compile(expression_);
  return *compiled_;
}

std::uint32_t MatcherSlots::take() {
  if (free_.empty()) return count_++;
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

Matcher::Matcher(std::vector<SelectorPtr> selectors, std::shared_ptr<MatcherSlots> slots)
    : selectors_(std::move(selectors)),
      slots_(std::move(slots)),
      slot_(slots_->take()),
      serial_(slots_->nextSerial()) {}

std::optional<Matcher::Failure> Matcher::failure(const DeviceContent& device, bool& matches) const {
  matches = true;
  for (std::size_t i = 0; i < selectors_.size() && matches; ++i) {
    const auto& selector = selectors_[i]->compiled();
    if (!selector) return Failure{i, true, selector.error().message};
    const Result<bool> answer = (*selector)->matches(device);
    if (!answer) return Failure{i, false, answer.error().message};
    matches = *answer;
  }
  return std::nullopt;
}

Match Matcher::evaluate(const DeviceContent& device) const {
  bool matches = true;
  const bool failed = failure(device, matches).has_value();
  const Match match = failed ? Match::Failed : matches ? Match::Yes : Match::No;
  if (device.memo_.size() <= slot_) device.memo_.resize(slot_ + 1);
  device.memo_[slot_] = {serial_, match};
  return match;
}

Matcher::Failure Matcher::failureOf(const DeviceContent& device) const {
  bool matches = true;
  return failure(device, matches).value_or(Failure{});
}

template <class T>
void Matchers::sweep(Known<T>& known, std::size_t& limit) {
  if (known.size() < limit) return;
  boost::unordered::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
  limit = std::max<std::size_t>(64, 2 * known.size());
}

MatcherPtr Matchers::of(const api::List<api::DeviceSelector>& selectors) {
  std::string key;
  for (const api::DeviceSelector& selector : selectors) {
    const std::string& text = selector.cel->expression;
    key += std::to_string(text.size()) + ":" + text;
  }
  if (const auto it = matchers_.find(key); it != matchers_.end())
    if (auto matcher = it->second.lock()) return matcher;
  sweep(matchers_, matcherLimit_);
  sweep(selectors_, selectorLimit_);
  std::vector<Matcher::SelectorPtr> list;
  for (const api::DeviceSelector& each : selectors) {
    std::weak_ptr<const Selector>& known = selectors_[each.cel->expression];
    auto selector = known.lock();
    if (!selector)
      known = selector = std::make_shared<const Selector>(compiler_, each.cel->expression);
    list.push_back(std::move(selector));
  }
  auto matcher = std::make_shared<const Matcher>(std::move(list), slots_);
  matchers_[std::move(key)] = matcher;
  return matcher;
}

}  // namespace koord::scheduler::dra
