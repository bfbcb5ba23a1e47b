#pragma once

// The variables that kubelet gives containers for services: NAME_SERVICE_HOST and others.

#include <map>
#include <string>
#include <vector>

#include "cluster/services/proxy/rules.h"

namespace koord::cluster::services {

// Of the services of the pod's namespace if it wants them (spec.enableServiceLinks), and in any
// case of default/kubernetes, by which in-cluster clients find the API server.
std::map<std::string, std::string> serviceEnvironment(const std::vector<ServicePtr>& services,
                                                      const std::string& namespace_, bool links);

}  // namespace koord::cluster::services
