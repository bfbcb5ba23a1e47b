#include "scheduler/framework/signature.h"

namespace koord::scheduler {

void signTerm(const api::NodeSelectorTerm& term, Signature& signature) {
  for (const auto* list : {&term.matchExpressions, &term.matchFields}) {
    signature.add(static_cast<std::int64_t>(list->size()));
    for (const auto& requirement : *list) {
      signature.add(requirement.key);
      signature.add(requirement.operator_);
      signature.add(static_cast<std::int64_t>(requirement.values.size()));
      for (const auto& value : requirement.values) signature.add(value);
    }
  }
}

void signRequiredNodeAffinity(const api::PodSpec& spec, Signature& signature) {
  signature.add(static_cast<std::int64_t>(spec.nodeSelector.size()));
  for (const auto& [key, value] : spec.nodeSelector) {
    signature.add(key);
    signature.add(value);
  }
  const auto* affinity =
      spec.affinity && spec.affinity->nodeAffinity ? &*spec.affinity->nodeAffinity : nullptr;
  if (!affinity || !affinity->requiredDuringSchedulingIgnoredDuringExecution)
    return signature.add(std::int64_t{-1});
  const auto& terms = affinity->requiredDuringSchedulingIgnoredDuringExecution->nodeSelectorTerms;
  signature.add(static_cast<std::int64_t>(terms.size()));
  for (const auto& term : terms) signTerm(term, signature);
}

void signTolerations(const api::PodSpec& spec, Signature& signature) {
  signature.add(static_cast<std::int64_t>(spec.tolerations.size()));
  for (const auto& toleration : spec.tolerations) {
    signature.add(toleration.key);
    signature.add(toleration.operator_);
    signature.add(toleration.value);
    signature.add(toleration.effect);
  }
}

}  // namespace koord::scheduler
