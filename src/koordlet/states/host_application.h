#pragma once

// Host applications: services of the machine outside of Kubernetes that NodeSLO names.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/slo_strategies.h"
#include "koordlet/system/cgroup_path.h"

namespace koord::koordlet {

// The relative cgroup directory of a host application; "" when its names lead out of the hierarchy.
std::string hostApplicationDir(const api::HostApplicationSpec& application, CgroupDriver driver);

// Which cgroups were given values for as long as NodeSLO names their applications. NodeSLO may drop one while no koordlet
// runs, so they are kept in a file, too.
class NamedApplications {
 public:
  // `file` "": kept in memory alone.
  explicit NamedApplications(std::string file);
  // Once in each pass, with those that are named now. The others, of which what they were given is to be taken back; for
  // some passes, since somebody else may give them values then.
  std::vector<std::string> dropped(const std::set<std::string>& named);

 private:
  void save();

  std::string file_;
  bool saved_ = true;
  std::map<std::string, int> passes_;  // by cgroup: since it was dropped
};

}  // namespace koord::koordlet
