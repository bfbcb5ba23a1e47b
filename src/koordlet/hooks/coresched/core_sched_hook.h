#pragma once

// Core scheduling (gate CoreSched, NodeSLO's cpuPolicy coreSched): pods of a group share cores only
// with each other, so that a neighbour on the other hyper-thread can neither slow them down nor spy
// on their caches. A pod's group is its label core-sched-group-id; with core-sched-policy exclusive
// the pod is a group by itself, with policy none it has no group. Pods of classes with and without
// core expeller are in different groups. SYSTEM pods are not changed. If the class has schedIdle,
// its QoS directory is idle for the scheduler (cpu.idle).

#include <functional>
#include <map>

#include "koordlet/hooks/hook.h"
#include "koordlet/system/core_sched.h"

namespace koord::koordlet {

struct CoreSchedRule {
  struct Class {
    bool enabled = false;
    bool expeller = false;
    bool idle = false;
  };
  Class lsr, ls, be;
  bool enabled() const { return lsr.enabled || ls.enabled || be.enabled; }
  const Class& of(const PodView& pod) const;
  const Class& of(KubeQos directory) const;
};
CoreSchedRule coreSchedRule(const api::ResourceQOSStrategy& strategy);
// The pod's group; nullopt if its processes get no cookie.
std::optional<std::string> coreSchedGroup(const PodView& pod, const CoreSchedRule& rule);

class CoreSchedHook final : public Hook {
 public:
  // Callbacks for metrics; each may be empty.
  struct Observer {
    std::function<void()> begin;  // called at the start of a pass, before all calls of cookie()
    std::function<void(const PodView&, const ContainerView&, const std::string& group,
                       std::uint64_t cookie)>
        cookie;
    std::function<void(const std::string& group, bool ok)>
        managed;  // called after an attempt to create, copy or clear a cookie
  };
  // `marker`: path of a file that exists while processes may have koordlet's cookies, for the next
  // koordlet process; "" for none.
  CoreSchedHook(const Host& host, std::unique_ptr<CoreSched> kernel, Observer observer = {},
                std::string marker = "");
  void prepare(const States& states, HookUpdates& updates) override;
  void wanted(const PodView& pod, HookUpdates& updates) override;

 private:
  // Turns on core scheduling by sysctl, and group identity off. Returns false on failure.
  bool switchOn();
  void addIdle(HookUpdates& updates) const;
  void join(const std::string& group, const std::vector<int>& pids);
  void leave(const std::vector<int>& pids);
  // Logs and reports an attempt to change cookies. Returns true if it succeeded.
  bool reportAttempt(const std::string& group, const Result<>& attempt);
  std::vector<int> processesOf(const PodView& pod) const;
  void logProblem(const Error& error);

  const Host& host_;
  std::unique_ptr<CoreSched> kernel_;
  CoreSchedRule rule_;
  // Returns true if processes may have koordlet's cookies: the policy is on, or was on until a few
  // passes ago.
  bool inUse(const States& states);
  void mark();

  std::string marker_;
  bool marked_ = false;  // the file exists
  bool used_ = false;
  int passesSince_ =
      0;  // passes with pods since the policy was on or the kernel refused to clear a cookie
  bool active_ = false;
  // By group: the cookie, and a process that has it, as found in this pass.
  struct Known {
    int pid = 0;
    std::uint64_t cookie = 0;
  };
  std::map<std::string, Known> groups_;
  Observer observer_;
  std::string problem_;  // logged once
};

}  // namespace koord::koordlet
