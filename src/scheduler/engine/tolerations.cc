#include "scheduler/engine/tolerations.h"

#include <algorithm>
#include <functional>

namespace koord::scheduler {

bool tolerates(const api::Toleration& toleration, const api::Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.operator_ == "Exists") return true;
  if (!toleration.operator_.empty() && toleration.operator_ != "Equal") return false;
  return toleration.value == taint.value;
}

bool tolerates(const api::List<api::Toleration>& tolerations, const api::Taint& taint) {
  return std::ranges::any_of(tolerations,
                             [&](const auto& toleration) { return tolerates(toleration, taint); });
}

bool toleratesAll(const api::List<api::Toleration>& tolerations,
                  const api::List<api::Taint>& taints) {
  return std::ranges::all_of(taints, [&](const api::Taint& taint) {
    return (taint.effect != "NoSchedule" && taint.effect != "NoExecute") ||
           tolerates(tolerations, taint);
  });
}

namespace {

constexpr std::size_t kShort = 16;

}  // namespace

std::size_t Tolerations::PatternHash::operator()(const Pattern& pattern) const {
  const std::hash<std::string_view> hash;
  std::size_t sum = hash(pattern.key) * 2 + (pattern.anyValue ? 1 : 0);
  for (const std::string_view text : {pattern.value, pattern.effect})
    if (!text.empty()) sum = sum * 1000003 + hash(text);
  return sum;
}

Tolerations::Tolerations(const api::List<api::Toleration>& list) : list_(list) {
  if (list.size() <= kShort) return;
  patterns_.reserve(list.size());
  for (const auto& toleration : list) {
    const bool anyValue = toleration.operator_ == "Exists";
    if (!anyValue && !toleration.operator_.empty() && toleration.operator_ != "Equal") continue;
    patterns_.insert({toleration.key, anyValue,
                      anyValue ? std::string_view() : std::string_view(toleration.value),
                      toleration.effect});
    anyKey_ |= toleration.key.empty();
  }
}

bool Tolerations::tolerate(const api::Taint& taint) const {
  if (list_.size() <= kShort) return tolerates(list_, taint);
  const auto known = [&](std::string_view key) {
    for (const std::string_view effect : {std::string_view(), std::string_view(taint.effect)})
      if (patterns_.contains({key, true, "", effect}) ||
          patterns_.contains({key, false, taint.value, effect}))
        return true;
    return false;
  };
  return known(taint.key) || (anyKey_ && known(""));
}

bool Tolerations::tolerateAll(const api::List<api::Taint>& taints) const {
  return std::ranges::all_of(taints, [&](const api::Taint& taint) {
    return (taint.effect != "NoSchedule" && taint.effect != "NoExecute") || tolerate(taint);
  });
}

}  // namespace koord::scheduler
