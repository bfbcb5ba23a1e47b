#include "scheduler/plugins/nodenumaresource/numa_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <boost/unordered/unordered_flat_set.hpp>

namespace koord::scheduler {

namespace {

using Hints = std::span<const NumaHint>;

// The limit of the number of reachable sets.
constexpr std::size_t kMaxReached = 1 << 10;

struct Best {
  NumaMask mask = 0;
  std::int64_t score = 0;
  bool any = false;
};

class Merger {
 public:
  Merger(NumaPolicy policy, NumaMask all, const std::function<bool(NumaMask)>& avoids)
      : policy_(policy), all_(all), avoids_(avoids) {}

  void add(Hints hints) {
    if (policy_ != NumaPolicy::SingleNumaNode) return lists_.push_back(hints);
    auto& kept = filtered_.emplace_back();
    for (const NumaHint& hint : hints)
      if (hint.preferred && std::popcount(hint.mask) <= 1) kept.push_back(hint);
    lists_.emplace_back(kept);
  }
  void reserve(std::size_t lists) { filtered_.reserve(lists); }

  NumaChoice choose() {
    const Best preferred = bestOf(true);
    NumaMask mask = all_;
    if (preferred.any) {
      mask = preferred.mask;
    } else if (policy_ == NumaPolicy::BestEffort) {
      const Best other = bestOf(false);
      if (other.any && narrowest() >= std::popcount(other.mask)) mask = other.mask;
    }
    if (policy_ == NumaPolicy::SingleNumaNode && mask == all_) mask = kAnyNuma;
    return {preferred.any || policy_ == NumaPolicy::BestEffort, mask, {}};
  }

 private:
  struct Candidate {
    NumaMask mask = 0;
    std::int64_t score = 0;
    std::size_t lists = 0;  // the number of lists that have it
  };

  static bool anywhere(Hints hints) {
    return std::ranges::any_of(hints, [](const NumaHint& hint) { return hint.mask == kAnyNuma; });
  }
  bool usable(const NumaHint& hint, bool preferred) const {
    return (hint.preferred || !preferred) && hint.mask != kAnyNuma && (hint.mask & ~all_) == 0;
  }

  // The sets that are in every list that names sets, in the order of the first of these lists.
  Best bestOf(bool preferred) {
    std::vector<Candidate> candidates;
    std::size_t lists = 0;
    for (const Hints hints : lists_) {
      if (anywhere(hints)) {
        if (preferred && std::ranges::none_of(hints, &NumaHint::preferred)) return {};
        continue;
      }
      if (lists++ == 0) {
        candidates.reserve(hints.size());
        for (const NumaHint& hint : hints)
          if (usable(hint, preferred)) candidates.push_back({hint.mask, hint.score, 1});
      } else {
        keepCommon(candidates, lists, hints, preferred);
      }
    }
    if (lists == 0) {
      const bool possible = std::ranges::none_of(lists_, [](Hints hints) { return hints.empty(); });
      return {all_, 0, possible && !(preferred && isAvoided(all_))};
    }
    Best best;
    for (const Candidate& candidate : candidates) {
      if (candidate.lists != lists || (preferred && isAvoided(candidate.mask))) continue;
      if (!best.any || better(candidate, best)) best = {candidate.mask, candidate.score, true};
    }
    return best;
  }

  // Counts the list for the candidates in it. Lists are nearly always in the same order, so a
  // search from the last match on finds the next.
  void keepCommon(std::vector<Candidate>& candidates, std::size_t lists, Hints hints,
                  bool preferred) const {
    std::size_t next = 0;
    for (const NumaHint& hint : hints) {
      if (!usable(hint, preferred)) continue;
      const auto matches = [&](const Candidate& candidate) {
        return candidate.mask == hint.mask && candidate.lists == lists - 1;
      };
      const auto from = candidates.begin() + static_cast<std::ptrdiff_t>(next);
      auto found = std::find_if(from, candidates.end(), matches);
      if (found == candidates.end()) {
        found = std::find_if(candidates.begin(), from, matches);
        if (found == from) continue;
      }
      found->lists = lists;
      found->score += hint.score;
      next = static_cast<std::size_t>(found - candidates.begin()) + 1;
    }
  }

  static bool better(const Candidate& candidate, const Best& best) {
    const int more = std::popcount(candidate.mask) - std::popcount(best.mask);
    if (more != 0) return more < 0;
    return candidate.mask < best.mask || candidate.score > best.score;
  }

  bool isAvoided(NumaMask mask) const { return avoids_ && avoids_(mask); }

  // The number of NUMA nodes of the smallest intersection of hints.
  int narrowest() const {
    boost::unordered_flat_set<NumaMask> reached{all_};
    for (const Hints hints : lists_) {
      if (anywhere(hints)) continue;
      boost::unordered_flat_set<NumaMask> next;
      for (const NumaMask mask : reached)
        for (const NumaHint& hint : hints)
          if ((mask & hint.mask) != 0) next.insert(mask & hint.mask);
      if (next.size() > kMaxReached) return 0;
      reached = std::move(next);
    }
    int fewest = std::popcount(all_);
    for (const NumaMask mask : reached) fewest = std::min(fewest, std::popcount(mask));
    return fewest;
  }

  NumaPolicy policy_;
  NumaMask all_;
  const std::function<bool(NumaMask)>& avoids_;
  std::vector<std::vector<NumaHint>> filtered_;  // what lists_ refers to if not all hints are used
  std::vector<Hints> lists_;
};

std::string summaryOf(const NumaResourceHints& resource) {
  std::string preferred, all;
  for (const NumaHint& hint : resource.hints) {
    if (hint.mask == kAnyNuma) continue;
    const std::string text = textOf(hint.mask);
    all += (all.empty() ? "" : " ") + text;
    if (hint.preferred) preferred += (preferred.empty() ? "" : " ") + text;
  }
  return fmt::format("{} prefer [{}] among [{}]", resource.resource, preferred, all);
}

std::string unaligned(NumaPolicy policy, std::span<const NumaHints> providers) {
  std::vector<std::string> summaries;
  for (const NumaHints& provider : providers)
    for (const NumaResourceHints& resource : provider.resources)
      summaries.push_back(summaryOf(resource));
  std::ranges::sort(summaries);
  std::string text;
  for (const std::string& summary : summaries) {
    if (!text.empty()) text += policy == NumaPolicy::Restricted ? " & " : ",";
    text += summary;
  }
  return "Unaligned NUMA Hint cause " + text;
}

}  // namespace

std::string textOf(NumaMask mask) {
  // As wide as upstream writes it, which lacks a zero for powers of four.
  int width = 2;
  for (int k = 62; k >= 2; k -= 2) {
    if (mask > NumaMask{1} << k) {
      width = k + 2;
      break;
    }
  }
  std::string text = fmt::format("{:b}", mask);
  if (static_cast<int>(text.size()) < width)
    text.insert(0, static_cast<std::size_t>(width) - text.size(), '0');
  return text;
}

NumaChoice chooseNuma(NumaPolicy policy, NumaMask all, std::span<const NumaHints> providers,
                      const std::function<bool(NumaMask)>& avoids) {
  Merger merger(policy, all, avoids);
  std::vector<std::string> impossible;
  std::size_t lists = 0;
  for (const NumaHints& provider : providers) lists += provider.resources.size();
  merger.reserve(lists);
  for (const NumaHints& provider : providers) {
    for (const NumaResourceHints& resource : provider.resources) {
      if (resource.hints.empty()) impossible.push_back("Unsatisfied NUMA " + resource.resource);
      merger.add(resource.hints);
    }
  }
  if (!impossible.empty() && policy != NumaPolicy::BestEffort) {
    std::ranges::sort(impossible);
    return {false, kAnyNuma, std::move(impossible)};
  }
  if (!impossible.empty()) return {true, all, {}};
  NumaChoice choice = merger.choose();
  if (!choice.admitted) choice.reasons.push_back(unaligned(policy, providers));
  return choice;
}

}  // namespace koord::scheduler
