#pragma once

// Group identity (bvt) of kernels that have cpu.bvt_warp_ns: latency-sensitive groups preempt, best
// effort yields at once. The value comes from the QoS class in NodeSLO, 0 where the class has it
// switched off.

#include "koordlet/hooks/hook.h"
#include "koordlet/states/host_application.h"

namespace koord::koordlet {

struct GroupIdentityRule {
  std::int64_t lsr = 0;
  std::int64_t ls = 0;
  std::int64_t be = 0;
  bool active = false;  // the policy is group identity
  bool lsrEnabled = false;
  bool lsEnabled = false;
  bool enabled() const { return lsr != 0 || ls != 0 || be != 0; }
};
GroupIdentityRule groupIdentityRule(const api::ResourceQOSStrategy& strategy);
std::int64_t bvtOf(const GroupIdentityRule& rule, const PodView& pod);
std::int64_t bvtOf(const GroupIdentityRule& rule, KubeQos qosDirectory);
// Of a pod of which only the directory is known, and of a host application.
std::int64_t bvtOfUnknownPod(const GroupIdentityRule& rule, KubeQos qos);
std::int64_t bvtOf(const GroupIdentityRule& rule, const api::HostApplicationSpec& application);

class GroupIdentityHook final : public Hook {
 public:
  // `applications`: a file that outlives the process, for those that NodeSLO names; "" for none.
  explicit GroupIdentityHook(const Host& host, std::string applications = "");
  // Whether the kernel has it in any form.
  bool supported() const;
  void prepare(const States& states, HookUpdates& updates) override;
  void wanted(const PodView& pod, HookUpdates& updates) override;

 private:
  void addDirectories(const States& states, HookUpdates& updates);
  // The kernel's switch for all of it; false when it cannot be turned on.
  bool switchOn() const;

  const Host& host_;
  bool active_ = false;
  GroupIdentityRule rule_;
  NamedApplications applications_;
};

}  // namespace koord::koordlet
