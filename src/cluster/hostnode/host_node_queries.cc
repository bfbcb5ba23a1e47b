#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "cluster/hostnode/host_node.h"

namespace koord::cluster {

using Phase = RuntimeContainer::Phase;

json::value HostNode::podList() const {
  json::array items;
  for (const auto& [uid, entry] : entries_) {
    if (!entry.pod) continue;
    api::Pod pod = *entry.pod;  // without the fields that only this node needs
    if (entry.status && !api::isTerminal(pod)) {
      const auto scheduled =
          std::ranges::find(pod.status.conditions, "PodScheduled", &api::PodCondition::type);
      api::PodStatus status = *entry.status;
      if (scheduled != pod.status.conditions.end()) status.conditions.push_back(*scheduled);
      pod.status = std::move(status);
    }
    items.push_back(api::encodeObject(pod));
  }
  return json::object{{"kind", "PodList"},
                      {"apiVersion", "v1"},
                      {"metadata", json::object{}},
                      {"items", std::move(items)}};
}

Result<std::string> HostNode::logPath(const api::ObjectKey& pod, const std::string& container,
                                      bool previous) const {
  for (const auto& [uid, entry] : entries_) {
    if (!entry.pod || api::keyOf(entry.pod->metadata) != pod) continue;
    std::vector<const RuntimeContainer*> found;
    for (const auto& candidate : entry.containers)
      if (candidate.name == container) found.push_back(&candidate);
    std::ranges::sort(found, std::ranges::greater{}, &RuntimeContainer::attempt);
    const std::size_t index = previous ? 1 : 0;
    if (found.size() > index) return found[index]->logPath;
    return fail(ErrorCode::BadRequest,
                fmt::format("container \"{}\" in pod \"{}\" has {}", container, pod.name,
                            previous ? "no previous run" : "not started"));
  }
  return fail(ErrorCode::NotFound, fmt::format("pod \"{}\" is not on this node", pod.toString()));
}

Result<std::string> HostNode::runningContainer(const api::ObjectKey& pod,
                                               const std::string& container) const {
  for (const auto& [uid, entry] : entries_)
    if (entry.pod && api::keyOf(entry.pod->metadata) == pod)
      for (const auto& candidate : entry.containers)
        if (candidate.name == container && candidate.phase == Phase::Running) return candidate.id;
  return fail(ErrorCode::NotFound,
              fmt::format("container not found (\"{}\"): it does not run now", container));
}

bool HostNode::hasEphemeralContainer(const api::ObjectKey& pod,
                                     const std::string& container) const {
  const auto found = pods_.get(pod);
  return found && std::ranges::find(found->ephemeralContainers, container, &api::Container::name) !=
                      found->ephemeralContainers.end();
}

bool HostNode::isRunning(const api::ObjectKey& pod, const std::string& container) const {
  return runningContainer(pod, container).has_value();
}

}  // namespace koord::cluster
