#pragma once

// Splits last-level cache and memory bandwidth between the QoS classes on nodes with resctrl (gate
// RdtResctrl): groups LSR, LS and BE get the cache ways and the bandwidth of NodeSLO, and the
// threads of all pods are in the group of their class.

#include <array>
#include <set>

#include "koordlet/qos/strategy.h"
#include "koordlet/resourceexecutor/resource_executor.h"
#include "koordlet/states/states.h"
#include "koordlet/system/resctrl.h"

namespace koord::koordlet {

// The schemata lines of a group; an empty line changes nothing.
struct ResctrlWanted {
  std::string l3;
  std::string mb;
};
// An error names the invalid field.
Result<ResctrlWanted> resctrlWanted(const resctrl::Machine& machine, const api::ResctrlQOS& qos);

class ResctrlReconcile final : public Strategy {
 public:
  ResctrlReconcile(const Host& host, const States& states, ResourceExecutor& executor);

  void run() override;
  json::value view() const override;

 private:
  struct Group {
    std::string name;
    std::optional<api::ResctrlQOS> qos;
    bool enabled() const { return qos && qos->enable.value_or(false); }
  };
  using Groups = std::array<Group, 3>;

  static Groups groupsOf(const api::ResourceQOSStrategy& strategy);
  // Mounts the file system and creates the groups if missing; an error says why that fails.
  Result<> prepare(const Groups& groups);
  void applySchemata(const resctrl::Machine& machine, const Group& group);
  void applyTasks(const Groups& groups);
  void addNewTasks(const PodView& pod, const std::set<int>& known, std::vector<int>& ids) const;

  const Host& host_;
  const States& states_;
  ResourceExecutor& executor_;
  Result<> supported_;
  bool amd_;
  bool used_ = false;  // true if the groups exist
  std::string reason_ = "not run yet";
  std::map<std::string, std::string> applied_;  // by group
};

}  // namespace koord::koordlet
