#include "koordlet/states/pod_view.h"

namespace koord::koordlet {
namespace {

ContainerView viewOf(const api::ContainerStatus& status, const std::string& podDir,
                     CgroupDriver driver, bool init) {
  ContainerView view;
  view.name = status.name;
  view.init = init;
  view.running = status.state.running.has_value();
  // The directory of ids of unknown runtimes, and of empty ids, is unknown.
  const auto separator = status.containerID.find("://");
  if (separator == std::string::npos || separator + 3 == status.containerID.size()) return view;
  if (auto name = containerDirName(driver, status.containerID)) {
    view.id = status.containerID.substr(separator + 3);
    // While a container is being created, only the runtime may write to its cgroup (pod_watch.h).
    if (!status.state.waiting) view.dir = joinPath(podDir, *name);
  }
  return view;
}

}  // namespace

PodView viewOf(std::shared_ptr<const api::Pod> pod, CgroupDriver driver) {
  PodView view;
  view.qos = model::rawQos(*pod);
  view.kubeQos = model::kubernetesQos(*pod);
  view.dir = podDir(driver, view.kubeQos, pod->metadata.uid);
  for (const auto& status : pod->status.initContainerStatuses)
    view.containers.push_back(viewOf(status, view.dir, driver, true));
  for (const auto& status : pod->status.containerStatuses)
    view.containers.push_back(viewOf(status, view.dir, driver, false));
  view.pod = std::move(pod);
  return view;
}

std::string containerIdOf(const PodView& pod, const ContainerView& container) {
  for (const auto* list :
       {&pod.pod->status.initContainerStatuses, &pod.pod->status.containerStatuses})
    for (const auto& status : *list)
      if (status.name == container.name && status.containerID.ends_with(container.id))
        return status.containerID;
  return container.id;
}

const api::Container* containerOf(const api::Pod& pod, std::string_view name) {
  for (const auto* list : {&pod.spec.initContainers, &pod.spec.containers})
    for (const auto& container : *list)
      if (container.name == name) return &container;
  return nullptr;
}

}  // namespace koord::koordlet
