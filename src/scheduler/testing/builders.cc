#include "scheduler/testing/builders.h"

namespace koord::scheduler::testing {

Quantity quantity(std::string_view text) {
  return *Quantity::parse(text);
}

PodBuilder::PodBuilder(std::string name, std::string namespace_) {
  pod_.metadata.name = std::move(name);
  pod_.metadata.namespace_ = std::move(namespace_);
  pod_.metadata.uid = "uid-" + pod_.metadata.namespace_ + "-" + pod_.metadata.name;
  pod_.metadata.resourceVersion = "1";
  pod_.spec.schedulerName = "default-scheduler";
  pod_.spec.containers.emplace_back().name = "main";
}

PodBuilder& PodBuilder::request(const std::string& resource, std::string_view amount) {
  pod_.spec.containers.back().resources.requests[resource] = quantity(amount);
  return *this;
}

PodBuilder& PodBuilder::container(std::string image) {
  pod_.spec.containers.emplace_back().image = std::move(image);
  return *this;
}

PodBuilder& PodBuilder::image(std::string image) {
  pod_.spec.containers.back().image = std::move(image);
  return *this;
}

PodBuilder& PodBuilder::hostPort(std::int32_t port, std::string protocol, std::string ip) {
  pod_.spec.containers.back().ports.push_back({"", port, port, std::move(protocol), std::move(ip)});
  return *this;
}

PodBuilder& PodBuilder::toleration(std::string key, std::string op, std::string value,
                                   std::string effect) {
  pod_.spec.tolerations.push_back(
      {std::move(key), std::move(op), std::move(value), std::move(effect), {}});
  return *this;
}

PodBuilder& PodBuilder::label(const std::string& key, std::string value) {
  pod_.metadata.labels[key] = std::move(value);
  return *this;
}

PodBuilder& PodBuilder::nodeSelector(const std::string& key, std::string value) {
  pod_.spec.nodeSelector[key] = std::move(value);
  return *this;
}

PodBuilder& PodBuilder::requireNode(api::NodeSelectorTerm term) {
  auto& required = nodeAffinity().requiredDuringSchedulingIgnoredDuringExecution;
  if (!required) required.emplace();
  required->nodeSelectorTerms.push_back(std::move(term));
  return *this;
}

PodBuilder& PodBuilder::preferNode(std::int32_t weight, std::string key, std::string value) {
  nodeAffinity().preferredDuringSchedulingIgnoredDuringExecution.push_back(
      {weight, {{{std::move(key), "In", {std::move(value)}}}, {}}});
  return *this;
}

PodBuilder& PodBuilder::near(std::string topologyKey, const std::string& label, std::string value,
                             int weight) {
  addTerm(affinity().podAffinity, podTerm(std::move(topologyKey), label, std::move(value)), weight);
  return *this;
}

PodBuilder& PodBuilder::apart(std::string topologyKey, const std::string& label, std::string value,
                              int weight) {
  addTerm(affinity().podAntiAffinity, podTerm(std::move(topologyKey), label, std::move(value)),
          weight);
  return *this;
}

PodBuilder& PodBuilder::near(api::PodAffinityTerm term, int weight) {
  addTerm(affinity().podAffinity, std::move(term), weight);
  return *this;
}

PodBuilder& PodBuilder::apart(api::PodAffinityTerm term, int weight) {
  addTerm(affinity().podAntiAffinity, std::move(term), weight);
  return *this;
}

api::PodAffinityTerm PodBuilder::podTerm(std::string topologyKey, const std::string& label,
                                         std::string value) {
  api::PodAffinityTerm term;
  term.topologyKey = std::move(topologyKey);
  term.labelSelector.emplace().matchLabels[label] = std::move(value);
  return term;
}

PodBuilder& PodBuilder::spread(std::int32_t maxSkew, std::string topologyKey,
                               const std::string& label, std::string value, std::string action) {
  auto& constraint = pod_.spec.topologySpreadConstraints.emplace_back();
  constraint.maxSkew = maxSkew;
  constraint.topologyKey = std::move(topologyKey);
  constraint.whenUnsatisfiable = std::move(action);
  constraint.labelSelector.emplace().matchLabels[label] = std::move(value);
  return *this;
}

PodBuilder& PodBuilder::claim(std::string name) {
  auto& volume = pod_.spec.volumes.emplace_back();
  volume.name = name;
  volume.persistentVolumeClaim.emplace().claimName = std::move(name);
  return *this;
}

PodBuilder& PodBuilder::nodeName(std::string node) {
  pod_.spec.nodeName = std::move(node);
  return *this;
}

PodBuilder& PodBuilder::nominated(std::string node) {
  pod_.status.nominatedNodeName = std::move(node);
  return *this;
}

PodBuilder& PodBuilder::priority(std::int32_t priority) {
  pod_.spec.priority = priority;
  return *this;
}

PodBuilder& PodBuilder::scheduler(std::string name) {
  pod_.spec.schedulerName = std::move(name);
  return *this;
}

PodBuilder& PodBuilder::gate(std::string name) {
  pod_.spec.schedulingGates.push_back({std::move(name)});
  return *this;
}

PodBuilder& PodBuilder::version(std::string resourceVersion) {
  pod_.metadata.resourceVersion = std::move(resourceVersion);
  return *this;
}

std::shared_ptr<const api::Pod> PodBuilder::build() const {
  return std::make_shared<const api::Pod>(pod_);
}

api::Affinity& PodBuilder::affinity() {
  if (!pod_.spec.affinity) pod_.spec.affinity.emplace();
  return *pod_.spec.affinity;
}

api::NodeAffinity& PodBuilder::nodeAffinity() {
  if (!affinity().nodeAffinity) affinity().nodeAffinity.emplace();
  return *affinity().nodeAffinity;
}

void PodBuilder::addTerm(std::optional<api::PodAffinity>& part, api::PodAffinityTerm term,
                         int weight) {
  if (!part) part.emplace();
  if (weight == 0) {
    part->requiredDuringSchedulingIgnoredDuringExecution.push_back(std::move(term));
  } else {
    part->preferredDuringSchedulingIgnoredDuringExecution.push_back({weight, std::move(term)});
  }
}

NodeBuilder::NodeBuilder(std::string name) {
  node_.metadata.name = std::move(name);
  node_.metadata.uid = "uid-" + node_.metadata.name;
  allocatable("cpu", "4").allocatable("memory", "8Gi").allocatable("pods", "110");
}

NodeBuilder& NodeBuilder::allocatable(const std::string& resource, std::string_view amount) {
  node_.status.allocatable[resource] = quantity(amount);
  return *this;
}

NodeBuilder& NodeBuilder::label(const std::string& key, std::string value) {
  node_.metadata.labels[key] = std::move(value);
  return *this;
}

NodeBuilder& NodeBuilder::taint(std::string key, std::string value, std::string effect) {
  node_.spec.taints.push_back({std::move(key), std::move(value), std::move(effect), {}});
  return *this;
}

NodeBuilder& NodeBuilder::unschedulable(bool value) {
  node_.spec.unschedulable = value;
  return *this;
}

NodeBuilder& NodeBuilder::image(std::string name, std::int64_t bytes) {
  node_.status.images.push_back({{std::move(name)}, bytes});
  return *this;
}

std::shared_ptr<const api::Node> NodeBuilder::build() const {
  return std::make_shared<const api::Node>(node_);
}

PodBuilder aPod(std::string name, std::string namespace_) {
  return PodBuilder(std::move(name), std::move(namespace_));
}

NodeBuilder aNode(std::string name) {
  return NodeBuilder(std::move(name));
}

}  // namespace koord::scheduler::testing
