#include "descheduler/framework/pod.h"

#include <algorithm>
#include <charconv>

#include "model/pod_requests.h"
#include "model/well_known.h"

namespace koord::descheduler {

namespace {

bool hasAnnotation(const api::Pod& pod, std::string_view key) {
  return pod.metadata.annotations.contains(key);
}

// As Kubernetes reads costs: a 32-bit integer without a plus sign or leading zeros; otherwise 0.
std::int32_t costIn(const api::Pod& pod, std::string_view key) {
  const std::string* text = api::findIn(pod.metadata.annotations, key);
  if (!text || text->empty()) return 0;
  const char first = text->front();
  if (*text != "0" && first != '-' && (first < '1' || first > '9')) return 0;
  std::int32_t cost = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), cost);
  return error == std::errc() && end == text->data() + text->size() ? cost : 0;
}

bool isGangMember(const api::Pod& pod) {
  return pod.metadata.labels.contains(model::kLabelPodGroup) ||
         pod.metadata.labels.contains(model::kLabelPodGroupName) ||
         hasAnnotation(pod, model::kAnnotationGangName) || pod.spec.schedulingGroup;
}

bool isStatic(const api::Pod& pod) {
  const auto* source = api::findIn(pod.metadata.annotations, "kubernetes.io/config.source");
  return source && *source != "api";
}

bool isReadyPod(const api::Pod& pod) {
  return std::ranges::any_of(pod.status.conditions, [](const api::PodCondition& condition) {
    return condition.type == "Ready" && condition.status == "True";
  });
}

bool anyIdle(const api::List<api::ContainerStatus>& statuses) {
  return std::ranges::any_of(statuses, [](const api::ContainerStatus& status) {
    return status.state.waiting || status.state.terminated;
  });
}

std::uint32_t affinityFlags(const api::PodSpec& spec) {
  std::uint32_t flags = 0;
  if (!spec.nodeSelector.empty()) flags |= PodFacts::NodeSelected;
  if (!spec.topologySpreadConstraints.empty()) flags |= PodFacts::Spread;
  if (!spec.affinity) return flags;
  if (const auto& node = spec.affinity->nodeAffinity) {
    if (node->requiredDuringSchedulingIgnoredDuringExecution) flags |= PodFacts::NodeRequired;
    if (!node->preferredDuringSchedulingIgnoredDuringExecution.empty())
      flags |= PodFacts::NodePreferred;
  }
  if (const auto& anti = spec.affinity->podAntiAffinity;
      anti && !anti->requiredDuringSchedulingIgnoredDuringExecution.empty())
    flags |= PodFacts::AntiAffinity;
  return flags;
}

std::uint32_t flagsOf(const Pod& pod) {
  std::uint32_t flags = affinityFlags(pod.spec);
  const auto set = [&](bool holds, PodFacts::Flag flag) {
    if (holds) flags |= flag;
  };
  set(api::isTerminal(pod), PodFacts::Terminal);
  set(pod.status.phase == "Failed", PodFacts::Failed);
  set(pod.metadata.deletionTimestamp.has_value(), PodFacts::Terminating);
  set(isReadyPod(pod), PodFacts::Ready);
  set(std::ranges::any_of(pod.metadata.ownerReferences,
                          [](const auto& owner) { return owner.kind == "DaemonSet"; }),
      PodFacts::DaemonSet);
  set(hasAnnotation(pod, model::kAnnotationMirrorPod), PodFacts::Mirror);
  set(isStatic(pod), PodFacts::Static);
  set(pod.metadata.ownerReferences.empty(), PodFacts::Bare);
  set(std::ranges::any_of(
          pod.spec.volumes,
          [](const auto& volume) { return volume.persistentVolumeClaim.has_value(); }),
      PodFacts::Claims);
  set(hasAnnotation(pod, kAnnotationEvict), PodFacts::EvictMe);
  set(hasAnnotation(pod, kAnnotationPreferNoEviction), PodFacts::PreferStay);
  set(isGangMember(pod), PodFacts::Gang);
  set(pod.spec.priority.has_value(), PodFacts::HasPriority);
  set(anyIdle(pod.status.containerStatuses) || anyIdle(pod.status.initContainerStatuses) ||
          anyIdle(pod.ephemeralContainerStatuses),
      PodFacts::Waiting);
  return flags;
}

std::int32_t restartsOf(const api::List<api::ContainerStatus>& statuses) {
  std::int32_t sum = 0;
  for (const auto& status : statuses) sum += status.restartCount;
  return sum;
}

std::uint64_t signatureOf(const api::Pod& pod) {
  if (pod.metadata.ownerReferences.empty()) return 0;
  std::vector<std::string> parts;
  for (const auto& owner : pod.metadata.ownerReferences)
    parts.push_back("o" + owner.kind + "/" + owner.name);
  for (const auto& container : pod.spec.containers) parts.push_back("i" + container.image.str());
  std::ranges::sort(parts);
  std::string text = pod.metadata.namespace_;
  for (const std::string& part : parts) text += "#" + part;
  return std::max<std::uint64_t>(1, std::hash<std::string>{}(text));
}

bool isLocal(const json::value& volume) {
  return find(volume, "emptyDir") || find(volume, "hostPath");
}

// Drops running containers: the facts have all that matters of them.
void slimStatuses(api::List<api::ContainerStatus>& statuses) {
  api::List<api::ContainerStatus> kept;
  for (auto& status : statuses) {
    if (!status.state.waiting && !status.state.terminated) continue;
    api::ContainerStatus& left = kept.emplace_back();
    left.name = std::move(status.name);
    left.state = std::move(status.state);
  }
  kept.shrink_to_fit();
  statuses = std::move(kept);
}

}  // namespace

void establishFacts(Pod& pod) {
  PodFacts& facts = pod.facts;
  const std::uint32_t kept = facts.flags & PodFacts::LocalStorage;
  facts = PodFacts();
  facts.flags = flagsOf(pod) | kept;
  for (const auto& [key, value] : pod.metadata.labels) facts.labelKeys |= labelKeyBit(key);
  facts.namespaceHash = namespaceHash(pod.metadata.namespace_);
  facts.key = keyHash(pod.metadata.namespace_, pod.metadata.name);
  facts.signature = signatureOf(pod);
  facts.priority = pod.spec.priority.value_or(0);
  facts.deletionCost = costIn(pod, kAnnotationDeletionCost);
  facts.evictionCost = costIn(pod, model::kAnnotationEvictionCost);
  facts.restarts = restartsOf(pod.status.containerStatuses);
  facts.initRestarts = restartsOf(pod.status.initContainerStatuses);
  facts.priorityClass = model::priorityClassWithDefault(pod);
  facts.kubernetesQos = model::kubernetesQos(pod);
  facts.qos = model::qosWithDefault(pod);
  model::PodTotals totals = model::podTotals(pod);
  facts.milliCpu = totals.milliCpu;
  facts.memory = totals.memory;
  if (totals.beyond) facts.flags |= PodFacts::Beyond;
  pod.scalars = std::move(totals.scalars);
  if (totals.ephemeralStorage != 0) pod.scalars["ephemeral-storage"] = totals.ephemeralStorage;
  if (const auto created = pod.metadata.creationTimestamp) {
    facts.createdAt =
        std::chrono::duration_cast<std::chrono::seconds>(created->time_since_epoch()).count();
  }
}

void slim(Pod& pod, bool keepConditions) {
  pod.metadata.annotations.erase("kubectl.kubernetes.io/last-applied-configuration");
  pod.metadata.generateName = {};
  pod.metadata.finalizers = {};
  pod.spec.containers = {};
  pod.spec.initContainers = {};
  pod.spec.overhead = {};
  pod.spec.resources = {};
  api::List<api::Volume> claims;
  for (auto& volume : pod.spec.volumes)
    if (volume.persistentVolumeClaim) claims.push_back(std::move(volume));
  pod.spec.volumes = std::move(claims);
  api::PodStatus whole = std::move(pod.status);
  pod.status = {};
  pod.status.phase = std::move(whole.phase);
  pod.status.reason = std::move(whole.reason);
  pod.status.startTime = whole.startTime;
  // A pod that waits for a node keeps its conditions, which have the reason.
  if (pod.spec.nodeName.empty()) pod.status.nominatedNodeName = whole.nominatedNodeName;
  if (keepConditions || pod.spec.nodeName.empty())
    pod.status.conditions = std::move(whole.conditions);
  slimStatuses(whole.initContainerStatuses);
  slimStatuses(whole.containerStatuses);
  slimStatuses(pod.ephemeralContainerStatuses);
  pod.status.initContainerStatuses = std::move(whole.initContainerStatuses);
  pod.status.containerStatuses = std::move(whole.containerStatuses);
}

}  // namespace koord::descheduler

template <>
koord::Result<koord::descheduler::Pod> koord::api::decode<koord::descheduler::Pod>(
    const json::value& document, Reading reading) {
  auto shared = decode<Pod>(document, reading);
  if (!shared) return koord::fail(std::move(shared.error()));
  descheduler::Pod pod;
  static_cast<Pod&>(pod) = *std::move(shared);
  const auto* spec = find(document, "spec");
  if (const auto* volumes = spec ? find(*spec, "volumes") : nullptr; volumes && volumes->is_array())
    if (std::ranges::any_of(volumes->get_array(), descheduler::isLocal))
      pod.facts.flags |= descheduler::PodFacts::LocalStorage;
  const auto* status = find(document, "status");
  if (const auto* ephemeral = status ? find(*status, "ephemeralContainerStatuses") : nullptr) {
    auto read = decode<Pod>(
        json::object{{"status", json::object{{"containerStatuses", *ephemeral}}}}, reading);
    if (!read) return koord::fail(std::move(read.error()));
    pod.ephemeralContainerStatuses = std::move(read->status.containerStatuses);
  }
  descheduler::establishFacts(pod);
  return pod;
}
