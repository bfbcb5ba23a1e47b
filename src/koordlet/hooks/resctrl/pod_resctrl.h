#pragma once

// Last-level cache and memory bandwidth of single pods (gate Resctrl), by annotation
// node.koordinator.sh/resctrl:
//
//   {"llc": {"schemata": {"range": [0, 50]},
//            "schemataPerCache": [{"cacheID": 1, "range": [0, 30]}]},
//    "mb":  {"schemata": {"percent": 50}, "schemataPerCache": [{"cacheID": 1, "percent": 20}]}}
//
// Each such pod has a resctrl group of its own, koordlet-<uid>, made before its containers and
// removed with it. Of caches that the annotation does not name it has everything, as a new group has; an annotation of
// before may have named them.

#include <set>

#include "koordlet/hooks/hook.h"
#include "koordlet/system/resctrl.h"

namespace koord::koordlet {

struct PodSchemata {
  // Lines; "" without caches.
  std::string l3, mb;          // what the annotation says
  std::string restL3, restMb;  // everything, of the other caches
};
// An error says what in the annotation makes no sense; a part without sense is left out whole.
Result<PodSchemata> podSchemata(const resctrl::Machine& machine, std::string_view annotation);

std::string resctrlGroupOf(const PodView& pod);

class ResctrlHook final : public Hook {
 public:
  ResctrlHook(const Host& host, ResourceExecutor& executor, const Clock& clock);

  // Groups of pods that are gone go once they are older than ten seconds: the pod of a new one may
  // not be listed yet.
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
  std::map<std::string, SteadyTime> orphans_;    // groups, since when no pod is known
  std::map<std::string, std::string> problems_;  // by pod uid, told once
};

}  // namespace koord::koordlet
