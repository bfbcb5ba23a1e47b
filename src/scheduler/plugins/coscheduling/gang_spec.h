#pragma once

// GangSpec: the requirements of a gang, as its PodGroup states them, or a member in the lightweight
// protocol (annotations and deprecated labels of the pods alone). Values that cannot be read take
// their defaults, as upstream's do, and are listed in `problems`.
//
// A gang's id is "namespace/name". The gang of one of Kubernetes' own PodGroups (scheduling.k8s.io)
// has the id "scheduling.k8s.io/namespace/name", because the two kinds may have objects of the same
// name.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/pod.h"
#include "api/podgroup.h"
#include "base/result.h"
#include "scheduler/plugins/coscheduling/args.h"

namespace koord::scheduler {

enum class GangMode : std::uint8_t { Strict, NonStrict };

// Which members with a node count towards the minimum.
enum class MatchPolicy : std::uint8_t {
  OnceSatisfied,      // members that are not bound yet; no minimum once a member is bound
  OnlyWaiting,        // members that are not bound yet
  WaitingAndRunning,  // all members
};

// A rule about where in the network the gang goes.
struct NetworkGather {
  std::string layer;
  bool required = false;      // the whole gang in one place of the layer
  std::int64_t multiple = 1;  // places of the layer take pods in multiples of this
  bool operator==(const NetworkGather&) const = default;
};

struct GangSpec {
  std::int64_t minimum = 0;
  std::int64_t total = 0;  // shown only
  GangMode mode = GangMode::Strict;
  MatchPolicy policy = MatchPolicy::OnceSatisfied;
  std::string policyText;  // as it is shown
  Duration waitTime{};
  WallTime created{};
  std::vector<std::string> group;  // ids of the gangs that are bound together, sorted, with its own
  api::ResourceList minResources;
  bool fromPodGroup = false;
  bool basic = false;       // each member is scheduled like a single pod
  std::string topologyKey;  // all members are placed on nodes with the same value of this label
  // The rules for placement by network topology; nullopt: it does not apply.
  std::optional<std::vector<NetworkGather>> network;
  std::vector<std::string> problems;  // "spec.minMember: ...", "metadata.annotations[...]: ..."

  // The group's name: its ids joined by commas.
  std::string groupId() const;
  bool operator==(const GangSpec&) const = default;
};

// "" for a pod that is in no gang.
std::string_view gangNameOf(const api::Pod& pod);
// "" for a pod that is in no gang.
std::string gangIdOf(const api::Pod& pod);
std::string gangIdOf(const api::WorkloadPodGroup& group);
// Returns true if the member may state the gang's requirements. Members that name a PodGroup wait
// for the PodGroup instead.
bool maySpecify(const api::Pod& pod);

GangSpec gangSpecOf(const api::PodGroup& group, const CoschedulingArgs& args);
GangSpec gangSpecOf(const api::WorkloadPodGroup& group, const CoschedulingArgs& args);
// An error names the annotation or label that cannot be read, or is missing.
Result<GangSpec> gangSpecOf(const api::Pod& pod, const CoschedulingArgs& args);

}  // namespace koord::scheduler
