#include "scheduler/engine/tolerations.h"

#include <algorithm>

namespace koord::scheduler {

bool tolerates(const api::Toleration& toleration, const api::Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.operator_ == "Exists") return true;
  if (!toleration.operator_.empty() && toleration.operator_ != "Equal") return false;
  return toleration.value == taint.value;
}

bool tolerates(const std::vector<api::Toleration>& tolerations, const api::Taint& taint) {
  return std::ranges::any_of(tolerations, [&](const auto& toleration) { return tolerates(toleration, taint); });
}

bool toleratesAll(const std::vector<api::Toleration>& tolerations, const std::vector<api::Taint>& taints) {
  return std::ranges::all_of(taints, [&](const api::Taint& taint) {
    return (taint.effect != "NoSchedule" && taint.effect != "NoExecute") || tolerates(tolerations, taint);
  });
}

}  // namespace koord::scheduler
