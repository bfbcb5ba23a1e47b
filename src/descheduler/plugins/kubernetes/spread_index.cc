#include "descheduler/plugins/kubernetes/spread_index.h"

namespace koord::descheduler {

Topology::Topology(const Nodes& nodes, const std::string& key) {
  std::vector<const std::string*> labels;
  labels.reserve(nodes.size());
  for (const NodeView& node : nodes) {
    labels.push_back(api::findIn(node.node->metadata.labels, key));
    if (labels.back()) values.emplace_back(*labels.back());
  }
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
  domainOf.reserve(nodes.size());
  for (const std::string* label : labels) {
    if (label) {
      const auto at = std::ranges::lower_bound(values, std::string_view(*label));
      domainOf.push_back(static_cast<std::uint32_t>(at - values.begin()));
    } else {
      domainOf.push_back(kNone);
    }
  }
}

const PodsByLabel::ByValue& PodsByLabel::byValue(const std::string& key) {
  const auto [at, fresh] = byKey_.try_emplace(key);
  if (fresh)
    for (std::uint32_t i = 0; i < pods_.size(); ++i)
      if (const auto* value = api::findIn(pods_[i]->metadata.labels, key))
        at->second[*value].push_back(i);
  return at->second;
}

const PodsByLabel::List* PodsByLabel::fewest(const api::Selector& selector) {
  using Op = api::Selector::Op;
  static const List kNobody;
  const List* few = nullptr;
  for (const auto& requirement : selector.requirements()) {
    const bool one = requirement.values.size() == 1 &&
                     (requirement.op == Op::In || requirement.op == Op::Equals ||
                      requirement.op == Op::DoubleEquals);
    if (!one) continue;
    const ByValue& lists = byValue(requirement.key);
    const auto found = lists.find(requirement.values.front());
    const List& list = found == lists.end() ? kNobody : found->second;
    if (!few || list.size() < few->size()) few = &list;
  }
  return few;
}

}  // namespace koord::descheduler
