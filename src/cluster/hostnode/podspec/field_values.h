#pragma once

// What a pod's fieldRef and resourceFieldRef stand for, in environment variables and in files of
// the downward API.

#include <string>

#include "cluster/hostnode/podspec/host_pod.h"

namespace koord::cluster {

struct FieldContext {
  const HostPod& pod;
  const std::string& hostIp;
  const api::ResourceList& allocatable;  // of the node: the limit of a container that has none
};

// Of an environment variable.
Result<std::string> fieldValue(const FieldContext& context, const std::string& path);
// Of a file: only metadata, and also all labels or annotations, one name="value" a line.
Result<std::string> fieldFile(const FieldContext& context, const std::string& path);
// A request or limit in units of the divisor, rounded up. `container`: where the reference names
// none.
Result<std::string> resourceValue(const FieldContext& context,
                                  const spec::ResourceFieldRef& reference,
                                  const std::string& container);

}  // namespace koord::cluster
