#pragma once

// CPU normalisation (gate CPUNormalization): where a machine's CPUs are faster than nominal, the
// quota of pods that share CPUs shrinks by the same factor, so that a core of quota means the same
// work everywhere. Best-effort pods have it in their batch resources, pinned pods have no quota.

#include "koordlet/hooks/hook.h"
#include "koordlet/states/cpu_ratio.h"

namespace koord::koordlet {

class CpuNormalizationHook final : public Hook {
 public:
  void prepare(const States& states, HookUpdates& updates) override;
  void wanted(const PodView& pod, HookUpdates& updates) override;

 private:
  bool concerns(const PodView& pod) const;

  CpuRatio ratio_;
  bool shrunk_ = false;  // quotas were below nominal at some time, and are to be restored
  bool nodeBursts_ = false;
};

}  // namespace koord::koordlet
