#pragma once

// PodUnits: the units that are Pods of the API.

#include "kube/api.h"
#include "scheduler/framework/transforms.h"
#include "scheduler/framework/unit.h"

namespace koord::scheduler {

class PodUnits final : public UnitKind {
 public:
  // If api is nullptr, nothing is written and every unit counts as unbound.
  PodUnits(kube::Api* api, Executor& executor) : api_(api), executor_(executor) {}

  api::ObjectReference reference(const PodInfo& unit) const override;
  Task<Result<PodLocation>> find(PodPtr unit) override;
  Task<void> report(PodPtr unit, FailureReport failure) override;
  Task<void> announce(PodPtr unit, std::string node) override;
  Task<Result<>> annotate(PodPtr unit, api::StringMap annotations) override;
  Task<bool> evict(PodPtr unit, PodPtr preemptor) override;

  PodTransforms transforms;  // as informers apply them

 private:
  Task<void> patchStatus(api::ObjectKey key, json::value patch);

  kube::Api* api_;
  Executor& executor_;
};

}  // namespace koord::scheduler
