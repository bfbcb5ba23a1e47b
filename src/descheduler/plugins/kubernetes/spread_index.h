#pragma once

// An index of the nodes and pods of a cycle for spread constraints. Avoids a pass over all of them
// for each constraint: there may be as many constraints as workloads.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/selector.h"
#include "descheduler/framework/nodes.h"

namespace koord::descheduler {

// The domains of a topology key. Nodes and domains are identified by their positions.
struct Topology {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  Topology(const Nodes& nodes, const std::string& key);

  std::vector<std::string_view> values;  // of the domains, sorted
  std::vector<std::uint32_t> domainOf;   // by node; kNone: without the label
};

// The nodes of each domain that a constraint counts.
using CountedNodes = std::vector<std::vector<std::uint32_t>>;

// Finds pods by labels, among those of a namespace or of some nodes. The pods must outlive it.
class PodsByLabel {
 public:
  void add(const Pod& pod) { pods_.push_back(&pod); }
  // Returns true if pred(position) is true for a matching pod. Calls it in the order of addition,
  // until it returns true.
  template <class Pred>
  bool any(const api::Selector& selector, Pred&& pred) {
    const auto wanted = [&](std::uint32_t i) {
      return selector.matches(pods_[i]->metadata.labels) && pred(i);
    };
    if (const List* few = fewest(selector)) return std::ranges::any_of(*few, wanted);
    for (std::uint32_t i = 0; i < pods_.size(); ++i)
      if (wanted(i)) return true;
    return false;
  }
  // Calls fn(position) for each matching pod, in the order of addition.
  template <class F>
  void forEach(const api::Selector& selector, F&& fn) {
    any(selector, [&](std::uint32_t i) {
      fn(i);
      return false;
    });
  }
  const Pod& pod(std::uint32_t position) const { return *pods_[position]; }

 private:
  using List = std::vector<std::uint32_t>;
  using ByValue = std::unordered_map<std::string_view, List>;
  // The shortest list that contains all matching pods; nullptr if the selector requires no label
  // with a fixed value.
  const List* fewest(const api::Selector& selector);
  const ByValue& byValue(const std::string& key);

  std::vector<const Pod*> pods_;
  std::unordered_map<std::string, ByValue> byKey_;
};

}  // namespace koord::descheduler
