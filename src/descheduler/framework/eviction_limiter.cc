#include "descheduler/framework/eviction_limiter.h"

namespace koord::descheduler {

namespace {

bool reached(const std::map<std::string, std::uint32_t, std::less<>>& counts, std::string_view key,
             const std::optional<std::uint32_t>& limit) {
  if (!limit) return false;
  const auto found = counts.find(key);
  return (found == counts.end() ? 0 : found->second) >= *limit;
}

}  // namespace

void EvictionLimiter::reset() {
  byNode_.clear();
  byNamespace_.clear();
  total_ = 0;
}

std::string_view EvictionLimiter::denies(const api::Pod& pod) const {
  if (!pod.spec.nodeName.empty() && nodeExhausted(pod.spec.nodeName)) return "node";
  if (reached(byNamespace_, pod.metadata.namespace_, limits_.perNamespace)) return "namespace";
  return exhausted() ? "total" : "";
}

void EvictionLimiter::count(const std::string& node, const std::string& namespace_) {
  if (!node.empty()) ++byNode_[node];
  ++byNamespace_[namespace_];
  ++total_;
}

bool EvictionLimiter::nodeExhausted(std::string_view node) const {
  return reached(byNode_, node, limits_.perNode);
}

}  // namespace koord::descheduler
