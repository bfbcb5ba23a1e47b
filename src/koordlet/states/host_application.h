#pragma once

// Host applications: processes of the host outside of Kubernetes that NodeSLO names.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/slo_strategies.h"
#include "koordlet/system/cgroup_path.h"

namespace koord::koordlet {

// The relative cgroup directory of a host application; "" if its path leads out of the hierarchy.
std::string hostApplicationDir(const api::HostApplicationSpec& application, CgroupDriver driver);

// Remembers the cgroups of host applications that got values, so that these can be reverted when
// NodeSLO drops the application. NodeSLO may drop one while koordlet does not run, so they are
// saved to a file.
class NamedApplications {
 public:
  // `file` "": kept in memory only.
  explicit NamedApplications(std::string file);
  // Call once in each pass with the named cgroups. Returns the cgroups that were dropped, whose
  // values the caller reverts. A cgroup is returned for some passes only, because another program
  // may set its values later.
  std::vector<std::string> dropped(const std::set<std::string>& named);

 private:
  void save();

  std::string file_;
  bool saved_ = true;
  std::map<std::string, int> passes_;  // by cgroup: passes since it was dropped
};

}  // namespace koord::koordlet
