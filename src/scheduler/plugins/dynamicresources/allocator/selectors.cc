#include "scheduler/plugins/dynamicresources/allocator/selectors.h"

namespace koord::scheduler::dra {

Matchers::Id Matchers::of(const api::List<api::DeviceSelector>& selectors) {
  std::string key;
  for (const api::DeviceSelector& selector : selectors) {
    const std::string& text = selector.cel->expression;
    key += std::to_string(text.size()) + ":" + text;
  }
  if (const auto it = ids_.find(key); it != ids_.end()) return it->second;
  if (matchers_.size() >= kMost) {
    matchers_.clear();
    ids_.clear();
    compiled_.clear();
    ++generation_;
  }
  std::vector<std::shared_ptr<const Compiled>> list;
  for (const api::DeviceSelector& selector : selectors) {
    std::shared_ptr<const Compiled>& slot = compiled_[selector.cel->expression];
    if (!slot) slot = std::make_shared<const Compiled>(compiler_.compile(selector.cel->expression));
    list.push_back(slot);
  }
  const Id id = static_cast<Id>(matchers_.size());
  matchers_.push_back(std::move(list));
  ids_.emplace(std::move(key), id);
  return id;
}

std::optional<Matchers::Failure> Matchers::failure(Id matcher, const DeviceContent& device,
                                                   bool& matches) const {
  const auto& list = matchers_[matcher];
  matches = true;
  for (std::size_t i = 0; i < list.size() && matches; ++i) {
    const Compiled& selector = *list[i];
    if (!selector) return Failure{i, true, selector.error().message};
    const Result<bool> answer = (*selector)->matches(device);
    if (!answer) return Failure{i, false, answer.error().message};
    matches = *answer;
  }
  return std::nullopt;
}

Match Matchers::evaluate(Id matcher, const DeviceContent& device) {
  bool matches = true;
  const bool failed = failure(matcher, device, matches).has_value();
  if (device.memoOf_ != generation_) {
    device.memo_.clear();
    device.memoOf_ = generation_;
  }
  if (device.memo_.size() <= matcher) device.memo_.resize(matcher + 1, Match::Unknown);
  return device.memo_[matcher] = failed ? Match::Failed : matches ? Match::Yes : Match::No;
}

Matchers::Failure Matchers::failureOf(Id matcher, const DeviceContent& device) const {
  bool matches = true;
  return failure(matcher, device, matches).value_or(Failure{});
}

}  // namespace koord::scheduler::dra
