#pragma once

// What schedulers read differently than it stands in the API: old names of resources, capacity that
// a node keeps for others, and what labels and annotations say in place of fields. Informers apply
// it once before they deliver an object; the object in the API stays unchanged.

#include <functional>
#include <string>

#include "api/core.h"

namespace koord::model {

// Feature gates: what is not done unless asked for.
struct PodTransforms {
  // Annotation pod.koordinator.sh/replace-resources: "from:to,..." renames, "from:" takes away.
  bool replaceResources = false;
  // No priority, or 0, becomes the usual value of the pod's koordinator priority class.
  bool priority = false;
  // The preemption policy is that of a label; without one pods do not preempt.
  bool preemptionPolicy = false;

  static PodTransforms of(const std::function<bool(std::string_view gate)>& enabled);
};

// Deprecated names become those of today, unless these are there, too. True when something changed.
bool renameBatchResources(api::ResourceList& amounts);
bool renameDeviceResources(api::ResourceList& amounts);

// Names of resources, and whose scheduler the pod waits for: the label
// scheduling.koordinator.sh/scheduler-name has the last word over spec.schedulerName, which is kept
// in an annotation.
void transformPod(api::Pod& pod, const PodTransforms& transforms);

// Names of resources; what the annotation node.koordinator.sh/reservation keeps for processes
// outside of Kubernetes is not allocatable.
void transformNode(api::Node& node);

}  // namespace koord::model
