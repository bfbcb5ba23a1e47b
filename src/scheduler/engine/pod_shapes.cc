#include "scheduler/engine/pod_shapes.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "scheduler/engine/pod_info.h"

namespace koord::scheduler {

namespace {

// Larger pods are unique, or hostile: the shape stores all these fields.
constexpr std::size_t kMostText = 2048;
constexpr std::size_t kMaxParts = 32;

// Distinguishes most texts by their end: generated names differ there.
class ShapeHash {
 public:
  void add(std::uint64_t number) {
    hash_ = (hash_ ^ number) * 0x9e3779b97f4a7c15ULL;
    hash_ ^= hash_ >> 29;
  }
  void add(std::string_view text) {
    std::uint64_t end = 0;
    const std::size_t size = text.size();
    if (size >= sizeof end) {
      std::memcpy(&end, text.data() + size - sizeof end, sizeof end);
    } else {
      for (const char c : text) end = end << 8 | static_cast<unsigned char>(c);
    }
    add(end + size);
    text_ += size;
  }
  void add(const api::StringMap& map) {
    for (const auto& [key, value] : map) {
      add(value);
      text_ += key.size();
    }
    parts_ += map.size();
  }
  void add(const api::ResourceList& amounts) {
    for (const auto& [name, amount] : amounts) {
      add(static_cast<std::uint64_t>(amount.milliValue()));
      text_ += name.size();
    }
    parts_ += amounts.size();
  }
  void add(const api::List<api::Container>& containers) {
    for (const api::Container& container : containers) {
      add(std::string_view(container.image));
      add(container.resources.requests);
      add(container.resources.limits);
      parts_ += 1 + container.ports.size();
    }
  }
  void addParts(std::size_t parts) { parts_ += parts; }
  bool tooMuch() const { return text_ > kMostText || parts_ > kMaxParts; }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0;
  std::size_t text_ = 0;
  std::size_t parts_ = 0;
};

bool hasRestartRules(const api::Container& container) {
  return !container.restartPolicyRules.empty();
}

bool mayHaveShape(const api::Pod& pod) {
  const api::PodSpec& spec = pod.spec;
  const api::PodStatus& status = pod.status;
  return !spec.affinity && !spec.resources && !spec.schedulingGroup && spec.overhead.empty() &&
         spec.resourceClaims.empty() && std::ranges::none_of(spec.containers, hasRestartRules) &&
         std::ranges::none_of(spec.initContainers, hasRestartRules) &&
         status.containerStatuses.empty() && status.initContainerStatuses.empty() &&
         status.allocatedResources.empty() && !status.resources &&
         std::ranges::all_of(spec.volumes,
                             [](const api::Volume& volume) { return volume.image.is_null(); });
}

ShapeHash shapeHash(const api::Pod& pod) {
  ShapeHash hash;
  hash.add(std::string_view(pod.metadata.namespace_));
  hash.add(pod.metadata.labels);
  hash.add(pod.metadata.annotations);
  for (const auto& owner : pod.metadata.ownerReferences) hash.add(std::string_view(owner.uid));
  hash.add(pod.spec.containers);
  hash.add(pod.spec.initContainers);
  hash.add(static_cast<std::uint64_t>(pod.spec.priority.value_or(0)));
  hash.addParts(pod.metadata.ownerReferences.size() + pod.spec.nodeSelector.size() +
                pod.spec.tolerations.size());
  return hash;
}

bool samePort(const api::ContainerPort& a, const api::ContainerPort& b) {
  return a.hostPort == b.hostPort && a.containerPort == b.containerPort &&
         a.protocol == b.protocol && a.hostIP == b.hostIP;
}

bool sameContainer(const api::Container& a, const api::Container& b) {
  return a.name == b.name && a.image == b.image && a.restartPolicy == b.restartPolicy &&
         a.resources.requests == b.resources.requests && a.resources.limits == b.resources.limits &&
         a.resources.claims == b.resources.claims && std::ranges::equal(a.ports, b.ports, samePort);
}

bool sameToleration(const api::Toleration& a, const api::Toleration& b) {
  return a.key == b.key && a.operator_ == b.operator_ && a.value == b.value &&
         a.effect == b.effect && a.tolerationSeconds == b.tolerationSeconds;
}

}  // namespace

struct PodShapes::Entry {
  explicit Entry(const api::Pod& pod, ShapeId id) : shape{id, nullptr} {
    said.metadata.namespace_ = pod.metadata.namespace_;
    said.metadata.labels = pod.metadata.labels;
    said.metadata.annotations = pod.metadata.annotations;
    said.metadata.ownerReferences = pod.metadata.ownerReferences;
    said.spec.nodeSelector = pod.spec.nodeSelector;
    said.spec.tolerations = pod.spec.tolerations;
    said.spec.priority = pod.spec.priority;
    said.spec.priorityClassName = pod.spec.priorityClassName;
    said.spec.hostNetwork = pod.spec.hostNetwork;
    said.spec.hostUsers = pod.spec.hostUsers;
    for (const auto list : {&api::PodSpec::containers, &api::PodSpec::initContainers}) {
      for (const api::Container& container : pod.spec.*list) {
        api::Container& kept = (said.spec.*list).emplace_back();
        kept.name = container.name;
        kept.image = container.image;
        kept.ports = container.ports;
        kept.resources = container.resources;
        kept.restartPolicy = container.restartPolicy;
      }
    }
  }

  bool isOf(const api::Pod& pod) const {
    const api::ObjectMeta& meta = pod.metadata;
    const api::PodSpec& spec = pod.spec;
    return said.metadata.labels == meta.labels && said.metadata.annotations == meta.annotations &&
           said.metadata.ownerReferences == meta.ownerReferences &&
           said.metadata.namespace_ == meta.namespace_ &&
           std::ranges::equal(said.spec.containers, spec.containers, sameContainer) &&
           std::ranges::equal(said.spec.initContainers, spec.initContainers, sameContainer) &&
           std::ranges::equal(said.spec.tolerations, spec.tolerations, sameToleration) &&
           said.spec.nodeSelector == spec.nodeSelector && said.spec.priority == spec.priority &&
           said.spec.priorityClassName == spec.priorityClassName &&
           said.spec.hostNetwork == spec.hostNetwork && said.spec.hostUsers == spec.hostUsers;
  }

  api::Pod said;
  Shape shape;
};

PodShapes::PodShapes() = default;
PodShapes::~PodShapes() = default;

PodShapes::Shape* PodShapes::of(const api::Pod& pod) {
  if (!mayHaveShape(pod)) return nullptr;
  const ShapeHash hash = shapeHash(pod);
  if (hash.tooMuch()) return nullptr;
  const auto [first, end] = shapes_.equal_range(hash.value());
  for (auto it = first; it != end; ++it)
    if (it->second->isOf(pod)) return &it->second->shape;
  const auto mark = static_cast<std::uint32_t>(hash.value() >> 32);
  std::uint32_t& seen = seen_[hash.value() % seen_.size()];
  if (std::exchange(seen, mark) != mark) return nullptr;
  // Workloads are added and removed; those that still exist get new numbers.
  if (shapes_.size() >= kMaxShapes) shapes_.clear();
  auto entry = std::make_unique<Entry>(pod, ++last_);
  return &shapes_.emplace(hash.value(), std::move(entry))->second->shape;
}

}  // namespace koord::scheduler
