#pragma once

// Changes that schedulers make to objects when they read them: old resource names, reserved
// capacity of nodes, and labels and annotations that replace fields. Informers apply them before
// they deliver an object; the object in the API does not change.

#include <functional>
#include <string>

#include "api/core.h"

namespace koord::model {

// Optional changes, by feature gates.
struct PodTransforms {
  // Annotation pod.koordinator.sh/replace-resources: "from:to,..." renames, "from:" removes.
  bool replaceResources = false;
  // An absent priority, or 0, becomes the default value of the pod's koordinator priority class.
  bool priority = false;
  // The preemption policy is that of a label; pods without the label do not preempt.
  bool preemptionPolicy = false;

  static PodTransforms of(const std::function<bool(std::string_view gate)>& enabled);
};

// Deprecated names become current names unless these exist, too. Returns true if anything changed.
bool renameBatchResources(api::ResourceList& amounts);
bool renameDeviceResources(api::ResourceList& amounts);

// Renames resources and sets the scheduler: the label scheduling.koordinator.sh/scheduler-name
// overrides spec.schedulerName, which is kept in an annotation.
void transformPod(api::Pod& pod, const PodTransforms& transforms);

// Renames resources, and subtracts the reservation of the annotation
// node.koordinator.sh/reservation from allocatable.
void transformNode(api::Node& node);

}  // namespace koord::model
