#pragma once

// Core scheduling (gate CoreSched, NodeSLO's cpuPolicy coreSched): pods of a group share cores with
// each other and with nobody else, so that a neighbour on the other hyper-thread neither slows them
// down nor looks into their caches. A pod's group is its label core-sched-group-id, its own with
// core-sched-policy exclusive, none with policy none; groups with and without the class's core
// expeller are apart. SYSTEM pods are never touched. The class's schedIdle makes its QoS directory
// idle for the scheduler (cpu.idle).

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
// nullopt: the pod's processes have no cookie.
std::optional<std::string> coreSchedGroup(const PodView& pod, const CoreSchedRule& rule);

class CoreSchedHook final : public Hook {
 public:
  // Told of what is done; each may be empty.
  struct Observer {
    std::function<void()> begin;  // of a pass: who has which cookie is told anew
    std::function<void(const PodView&, const ContainerView&, const std::string& group,
                       std::uint64_t cookie)>
        cookie;
    std::function<void(const std::string& group, bool ok)>
        managed;  // a cookie was made, handed on or taken back
  };
  // `marker`: a file that is there while cookies of ours may be, so that the next process knows; "" for none.
  CoreSchedHook(const Host& host, std::unique_ptr<CoreSched> kernel, Observer observer = {},
                std::string marker = "");
  void prepare(const States& states, HookUpdates& updates) override;
  void wanted(const PodView& pod, HookUpdates& updates) override;

 private:
  // Turns on what the kernel keeps off until it is asked.
  bool switchOn();
  void addIdle(HookUpdates& updates) const;
  void join(const std::string& group, const std::vector<int>& pids);
  void leave(const std::vector<int>& pids);
  // Takes account of an attempt to change cookies; whether it worked.
  bool took(const std::string& group, const Result<>& attempt);
  std::vector<int> processesOf(const PodView& pod) const;
  void tell(const Error& error);

  const Host& host_;
  std::unique_ptr<CoreSched> kernel_;
  CoreSchedRule rule_;
  // Whether there may be cookies of ours: the policy is on, or was a few passes ago.
  bool inUse(const States& states);
  void mark();

  std::string marker_;
  bool marked_ = false;  // the file is there
  bool used_ = false;
  int passesSince_ =
      0;  // over pods, since it was switched off and the kernel last refused to take a cookie back
  bool active_ = false;
  // Of each group a process that has its cookie, as found in this pass; and its number.
  struct Known {
    int pid = 0;
    std::uint64_t cookie = 0;
  };
  std::map<std::string, Known> groups_;
  Observer observer_;
  std::string problem_;  // told once
};

}  // namespace koord::koordlet
