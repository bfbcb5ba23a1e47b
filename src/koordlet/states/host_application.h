#pragma once

// Host applications: services of the machine outside of Kubernetes that NodeSLO names.

#include <string>

#include "api/slo_strategies.h"
#include "koordlet/system/cgroup_path.h"

namespace koord::koordlet {

// The relative cgroup directory of a host application; "" when its names lead out of the hierarchy.
std::string hostApplicationDir(const api::HostApplicationSpec& application, CgroupDriver driver);

}  // namespace koord::koordlet
