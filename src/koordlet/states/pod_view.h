#pragma once

// A pod of this node for koordlet's components: the object, its QoS, and the cgroup directories of
// the pod and its containers.

#include <memory>
#include <string>
#include <vector>

#include "api/pod.h"
#include "koordlet/system/cgroup_path.h"
#include "model/qos.h"

namespace koord::koordlet {

struct ContainerView {
  std::string name;
  std::string id;   // without "containerd://"; empty until the container is created
  std::string dir;  // cgroup; empty while the id is unknown, and until the container is started
  bool init = false;
  bool running = false;
};

struct PodView {
  std::shared_ptr<const api::Pod> pod;
  model::Qos qos = model::Qos::None;  // by label alone
  KubeQos kubeQos = KubeQos::BestEffort;
  std::string dir;                        // cgroup, relative to a hierarchy
  std::vector<ContainerView> containers;  // those with a status, init containers first

  const std::string& uid() const { return pod->metadata.uid; }
  // Returns true in phase Running or Pending; others have nothing to limit.
  bool active() const { return pod->status.phase == "Running" || pod->status.phase == "Pending"; }
  bool bestEffort() const { return qos == model::Qos::BE; }
};

PodView viewOf(std::shared_ptr<const api::Pod> pod, CgroupDriver driver);

// As in the pod's status, "containerd://<id>"; the bare id while the status does not have it.
std::string containerIdOf(const PodView& pod, const ContainerView& container);

// The container of the spec with that name, init containers included; nullptr if there is none.
const api::Container* containerOf(const api::Pod& pod, std::string_view name);

}  // namespace koord::koordlet
