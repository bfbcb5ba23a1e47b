#pragma once

// Last-level cache and memory bandwidth of single pods (gate Resctrl), by annotation
// node.koordinator.sh/resctrl:
//
//   {"llc": {"schemata": {"range": [0, 50]},
//            "schemataPerCache": [{"cacheID": 1, "range": [0, 30]}]},
//    "mb":  {"schemata": {"percent": 50}, "schemataPerCache": [{"cacheID": 1, "percent": 20}]}}
//
// Each such pod has its own resctrl group, koordlet-<uid>, which is created before its containers
// and removed with the pod. Of the caches that the annotation does not name, the pod gets what the
// root group has, because the kernel refuses ways that an exclusive group of another program owns.
// These values are written explicitly, because an earlier annotation may have limited the caches.

#include <set>

#include "koordlet/hooks/hook.h"
#include "koordlet/system/resctrl.h"

namespace koord::koordlet {

struct PodSchemata {
  std::string l3, mb;  // schemata lines for all caches; "" if the machine has none of the kind
};
// Fails if the annotation is not valid; the error names the invalid part.
Result<PodSchemata> podSchemata(const resctrl::Machine& machine, std::string_view annotation);

std::string resctrlGroupOf(const PodView& pod);

class ResctrlHook final : public Hook {
 public:
  ResctrlHook(const Host& host, ResourceExecutor& executor, const Clock& clock);

  // Removes groups without a pod for ten seconds: the pod of a new group may not be listed yet.
  void prepare(const States& states, HookUpdates& updates) override;
  void wanted(const PodView& pod, HookUpdates& updates) override;
  Result<> starting(const PodView& pod, const ContainerView& container,
                    ContainerStart& start) override;
  Result<> podStarting(const PodView& pod) override;
  void podRemoved(const PodView& pod) override;

 private:
  Result<> apply(const PodView& pod);
  void moveTasks(const PodView& pod);
  void removeGroup(const std::string& group);

  const Host& host_;
  ResourceExecutor& executor_;
  const Clock& clock_;
  Result<> supported_;
  bool amd_;
  std::map<std::string, SteadyTime> orphans_;    // groups without a known pod, and since when
  std::map<std::string, std::string> problems_;  // by pod uid, logged once
};

}  // namespace koord::koordlet
