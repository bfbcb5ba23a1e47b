#include "console/rights/rights.h"

#include <algorithm>

#include "base/gather.h"

namespace koord::console {

bool Rights::lacks(const std::set<std::string, std::less<>>& namespaces) const {
  if (!partial_ || view_->bounded) return false;
  return !std::ranges::includes(known_, namespaces);
}

bool Rights::lacksNamed(const std::vector<std::string>& named,
                        const std::set<std::string, std::less<>>& namespaces) const {
  return partial_ && std::ranges::any_of(named, [&](const std::string& place) {
           return namespaces.contains(place) && !known_.contains(place);
         });
}

Task<Result<>> Rights::refresh(std::shared_ptr<const kube::Caller> caller,
                               std::set<std::string, std::less<>> namespaces,
                               std::vector<std::string> first) {
  const SteadyTime begin = executor_.steadyNow();
  std::erase_if(refused_, [&](const auto& item) { return item.second <= begin; });
  auto view = std::make_shared<View>();
  std::vector<Question> wide;
  for (std::size_t table = 0; table < kinds_.size(); ++table) wide.push_back({table, ""});
  auto askingWide = ask(*caller, std::move(wide), *view);
  auto asked = co_await askingWide;
  if (!asked) co_return asked;

  std::vector<Question> narrow;
  const auto places = chosen(namespaces, first);
  bool partial = false;
  for (std::size_t table = 0; table < kinds_.size(); ++table) {
    if (view->parts[table].all || !kinds_[table]->namespaced) continue;
    partial = true;
    for (const auto& place : places)
      if (!refused_.contains({table, place})) narrow.push_back({table, place});
  }
  view->bounded = partial && places.size() < namespaces.size();
  auto askingNarrow = ask(*caller, std::move(narrow), *view);
  asked = co_await askingNarrow;
  if (!asked) co_return asked;

  partial_ = partial;
  known_ = {places.begin(), places.end()};
  view_ = std::move(view);
  refreshedAt_ = begin;
  validUntil_ = begin + kViewLasts;
  co_return Result<>();
}

std::vector<std::string> Rights::chosen(const std::set<std::string, std::less<>>& namespaces,
                                        const std::vector<std::string>& first) {
  std::vector<std::string> places;
  const auto add = [&](const std::string& place) {
    if (places.size() < kMostNamespaces) places.push_back(place);
  };
  const std::set<std::string, std::less<>> named(first.begin(), first.end());
  for (const auto& place : named)
    if (namespaces.contains(place)) add(place);
  for (const auto& place : namespaces)
    if (!named.contains(place)) add(place);
  return places;
}

Task<Result<>> Rights::ask(const kube::Caller& caller, std::vector<Question> questions,
                           View& view) {
  for (std::size_t begin = 0; begin < questions.size(); begin += kAtOnce) {
    const std::size_t end = std::min(begin + kAtOnce, questions.size());
    std::vector<Task<Result<bool>>> tasks;
    for (std::size_t i = begin; i < end; ++i) tasks.push_back(mayFollow(caller, questions[i]));
    auto asking = gather(executor_, std::move(tasks));
    auto answers = co_await asking;
    for (std::size_t i = begin; i < end; ++i) {
      auto& answer = answers[i - begin];
      const auto& [table, place] = questions[i];
      if (!answer) co_return fail(std::move(answer.error()));
      if (!*answer) {
        if (!place.empty()) refused_[{table, place}] = executor_.steadyNow() + kRefusalsLast;
      } else if (place.empty()) {
        view.parts[table].all = true;
      } else {
        view.parts[table].namespaces.insert(place);
      }
    }
  }
  co_return Result<>();
}

Task<Result<bool>> Rights::mayFollow(const kube::Caller& caller, Question question) const {
  const api::ResourceType& kind = *kinds_[question.table];
  for (const char* verb : {"list", "watch"}) {
    auto asking = caller.may({.verb = verb,
                              .group = std::string(kind.group),
                              .resource = std::string(kind.plural),
                              .subresource = "",
                              .namespace_ = question.namespace_,
                              .name = ""});
    auto allowed = co_await asking;
    if (!allowed || !*allowed) co_return allowed;
  }
  co_return true;
}

}  // namespace koord::console
