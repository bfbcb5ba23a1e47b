#pragma once

// Group identity (bvt) on kernels with cpu.bvt_warp_ns: latency-sensitive cgroups preempt BE
// cgroups, which yield at once. The value comes from the QoS class in NodeSLO, 0 if the class has
// it switched off.

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
// The values of a pod of which only the directory is known, and of a host application.
std::int64_t bvtOfUnknownPod(const GroupIdentityRule& rule, KubeQos qos);
std::int64_t bvtOf(const GroupIdentityRule& rule, const api::HostApplicationSpec& application);

class GroupIdentityHook final : public Hook {
 public:
  // `applications`: path of a file that outlives the process, with the host applications of
  // NodeSLO; "" for none.
  explicit GroupIdentityHook(const Host& host, std::string applications = "");
  // Returns true if the kernel supports group identity: the cgroup file or the sysctl exists.
  bool supported() const;
  void prepare(const States& states, HookUpdates& updates) override;
  void wanted(const PodView& pod, HookUpdates& updates) override;

 private:
  void addDirectories(const States& states, HookUpdates& updates);
  // Turns on group identity by sysctl. Returns false on failure.
  bool switchOn() const;

  const Host& host_;
  bool active_ = false;
  GroupIdentityRule rule_;
  NamedApplications applications_;
};

}  // namespace koord::koordlet
