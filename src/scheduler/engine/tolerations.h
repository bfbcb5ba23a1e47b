#pragma once

// Which taints a pod tolerates.

#include <string_view>
#include <vector>

#include "api/core.h"

namespace koord::scheduler {

bool tolerates(const api::Toleration& toleration, const api::Taint& taint);
bool tolerates(const api::List<api::Toleration>& tolerations, const api::Taint& taint);
// Whether every NoSchedule and NoExecute taint is tolerated.
bool toleratesAll(const api::List<api::Toleration>& tolerations, const api::List<api::Taint>& taints);

// A pod's tolerations, to be asked about many taints: a long list is not walked for each. The list
// must outlive it.
class Tolerations {
 public:
  explicit Tolerations(const api::List<api::Toleration>& list);
  bool tolerate(const api::Taint& taint) const;
  // Whether every NoSchedule and NoExecute taint is tolerated.
  bool tolerateAll(const api::List<api::Taint>& taints) const;

 private:
  const api::List<api::Toleration>& list_;
  std::vector<const api::Toleration*> sorted_;  // empty for a short list
};

}  // namespace koord::scheduler
