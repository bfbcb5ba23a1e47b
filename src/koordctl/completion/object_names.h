#pragma once

// Names of objects in a cluster, for a shell to offer.

#include <string>

#include "api/meta.h"
#include "base/flags/flag_set.h"

namespace koord::koordctl {

// The names of a kind in the cluster of the kubeconfig ("" = the usual rules), at most 500. Kinds
// in namespaces have the form NAMESPACE/NAME, or NAME if the namespace is given. Empty if the
// cluster does not respond within two seconds: a shell waits for it.
flags::Completion objectNames(const std::string& kubeconfig, const api::ResourceType& type,
                              const std::string& namespace_ = "");

}  // namespace koord::koordctl
