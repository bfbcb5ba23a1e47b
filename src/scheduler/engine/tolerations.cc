#include "scheduler/engine/tolerations.h"

#include <algorithm>
#include <tuple>

namespace koord::scheduler {

bool tolerates(const api::Toleration& toleration, const api::Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.operator_ == "Exists") return true;
  if (!toleration.operator_.empty() && toleration.operator_ != "Equal") return false;
  return toleration.value == taint.value;
}

bool tolerates(const api::List<api::Toleration>& tolerations, const api::Taint& taint) {
  return std::ranges::any_of(tolerations, [&](const auto& toleration) { return tolerates(toleration, taint); });
}

bool toleratesAll(const api::List<api::Toleration>& tolerations, const api::List<api::Taint>& taints) {
  return std::ranges::all_of(taints, [&](const api::Taint& taint) {
    return (taint.effect != "NoSchedule" && taint.effect != "NoExecute") || tolerates(tolerations, taint);
  });
}

namespace {

constexpr std::size_t kShort = 16;

// What a toleration has to have for a taint of that key and value: the value matters only when it is
// compared.
std::tuple<std::string_view, bool, std::string_view> orderOf(const api::Toleration* toleration) {
  const bool any = toleration->operator_ == "Exists";
  return {toleration->key, any, any ? std::string_view() : toleration->value};
}

}  // namespace

Tolerations::Tolerations(const api::List<api::Toleration>& list) : list_(list) {
  if (list.size() <= kShort) return;
  for (const auto& toleration : list) sorted_.push_back(&toleration);
  std::ranges::sort(sorted_, {}, orderOf);
}

bool Tolerations::tolerate(const api::Taint& taint) const {
  if (sorted_.empty()) return tolerates(list_, taint);
  using Order = std::tuple<std::string_view, bool, std::string_view>;
  for (const Order& order : {Order{taint.key, true, ""}, Order{taint.key, false, taint.value},
                             Order{"", true, ""}, Order{"", false, taint.value}}) {
    const auto candidates = std::ranges::equal_range(sorted_, order, {}, orderOf);
    if (std::ranges::any_of(candidates, [&](const auto* one) { return tolerates(*one, taint); }))
      return true;
  }
  return false;
}

bool Tolerations::tolerateAll(const api::List<api::Taint>& taints) const {
  return std::ranges::all_of(taints, [&](const api::Taint& taint) {
    return (taint.effect != "NoSchedule" && taint.effect != "NoExecute") || tolerate(taint);
  });
}

}  // namespace koord::scheduler
