#pragma once

// The values of a pod's fieldRef and resourceFieldRef, for environment variables and files of the
// downward API.

#include <string>

#include "cluster/hostnode/podspec/host_pod.h"

namespace koord::cluster {

struct FieldContext {
  const HostPod& pod;
  const std::string& hostIp;
  const api::ResourceList& allocatable;  // of the node: the default limit of a container
};

// For an environment variable.
Result<std::string> fieldValue(const FieldContext& context, const std::string& path);
// For a file: only metadata, and also all labels or annotations, one name="value" a line.
Result<std::string> fieldFile(const FieldContext& context, const std::string& path);
// A request or limit in units of the divisor, rounded up. `container`: used if the reference names
// none.
Result<std::string> resourceValue(const FieldContext& context,
                                  const spec::ResourceFieldRef& reference,
                                  const std::string& container);

}  // namespace koord::cluster
