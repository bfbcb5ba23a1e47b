#pragma once

// PodWorkload: what owns a pod, by the pod's name. A record of usage has names only, and a rollout
// replaces all pods of a Deployment by pods of other names. So the pods of yesterday are found by
// the names that their owner gives:
//
//   Deployment                     NAME-HASH-SUFFIX, web-5d4f8-x2b4z
//   other owners                   NAME-SUFFIX,      agent-x2b4z
//   StatefulSet                    NAME-ORDINAL,     db-0
//
// Kubernetes draws hashes and suffixes from letters that make no words. A name that it has cut, of
// owners with more than 47 characters, is not recognised.

#include <compare>
#include <optional>
#include <vector>

#include "api/meta.h"
#include "api/pod.h"

namespace koord::koordctl {

struct PodWorkload {
  enum class Naming { Template, Suffix, Ordinal };
  api::ObjectKey key;  // of the owner
  Naming naming = Naming::Suffix;

  auto operator<=>(const PodWorkload&) const = default;
};

// nullopt: the pod has no controller, or not a name that its controller gives.
std::optional<PodWorkload> workloadOf(const api::Pod& pod);

// All that a pod of this name may belong to; the longest name first.
std::vector<PodWorkload> possibleWorkloads(const api::ObjectKey& pod);

}  // namespace koord::koordctl
