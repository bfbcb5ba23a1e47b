#include "scheduler/oracle/node_shape.h"

#include <fmt/format.h>

#include "api/codec.h"
#include "model/node_names.h"
#include "scheduler/framework/object_kinds.h"
#include "scheduler/plugins/deviceshare/device_object.h"
#include "scheduler/plugins/dynamicresources/objects.h"
#include "scheduler/plugins/nodenumaresource/topology_object.h"

namespace koord::scheduler::oracle {

namespace {

constexpr const char* kHostname = "kubernetes.io/hostname";
constexpr std::string_view kConditionTaints = "node.kubernetes.io/";

// Taints of this kind follow the state of a node: cordoned, not ready, short of memory.
std::shared_ptr<api::Node> nodeLike(const api::Node& node, const std::string& name) {
  auto copy = std::make_shared<api::Node>(node);
  copy->metadata.name = name;
  copy->metadata.uid = "simulated-node-" + name;
  if (copy->metadata.labels.contains(kHostname)) copy->metadata.labels[kHostname] = name;
  copy->spec.unschedulable = false;
  erase_if(copy->spec.taints, [](const api::Taint& taint) {
    return std::string_view(taint.key).starts_with(kConditionTaints);
  });
  return copy;
}

void adapt(api::Device& /*devices*/, const std::string& /*node*/) {}

void adapt(CpuReport& report, const std::string& /*node*/) {
  report.metadata.annotations.erase(std::string(model::kAnnotationPodCpuAllocs));
}

void adapt(api::CSINode& /*drivers*/, const std::string& /*node*/) {}

void adapt(api::ResourceSlice& slice, const std::string& node) {
  slice.spec.nodeName = node;
  slice.spec.pool.name = fmt::format("{}-{}", slice.spec.pool.name, node);
}

}  // namespace

Result<std::shared_ptr<const api::Node>> patternOf(const NewNodes& nodes,
                                                   const Scheduler& scheduler) {
  if (!nodes.like.empty()) {
    const auto id = scheduler.cluster().findNode(nodes.like);
    auto pattern = id ? scheduler.cluster().node(*id).object : nullptr;
    if (pattern) return pattern;
    return fail(ErrorCode::Invalid,
                fmt::format("{}.like: there is no node \"{}\"", nodes.path, nodes.like));
  }
  auto read = api::decode<api::Node>(nodes.node);
  if (!read) return fail(std::move(read.error()).within(nodes.path + ".node"));
  if (read->status.allocatable.empty()) read->status.allocatable = read->status.capacity;
  return std::make_shared<const api::Node>(*std::move(read));
}

// An object that belongs to the node.
struct NodeShape::Companion {
  virtual ~Companion() = default;
  virtual void create(Stores& stores, const std::string& node) const = 0;
  virtual void remove(Stores& stores, const std::string& node) const = 0;
};

namespace {

// Objects of most kinds have the name of their node; `suffix` is what others add.
template <class T, class Base>
struct CompanionOf final : Base {
  CompanionOf(std::shared_ptr<const T> known, std::string after)
      : object(std::move(known)), suffix(std::move(after)) {}
  void create(Stores& stores, const std::string& node) const override {
    auto copy = std::make_shared<T>(*object);
    copy->metadata.name = node + suffix;
    copy->metadata.uid = fmt::format("simulated-{}-{}", T::kType.plural, copy->metadata.name);
    adapt(*copy, node);
    stores.of<T>().set(std::move(copy));
  }
  void remove(Stores& stores, const std::string& node) const override {
    stores.of<T>().erase({"", node + suffix});
  }
  const std::shared_ptr<const T> object;
  const std::string suffix;
};

}  // namespace

NodeShape::NodeShape(Stores& stores, const api::Node& node) : stores_(stores), node_(node) {
  const std::string& name = node.metadata.name;
  const auto add = [&]<class T>(std::shared_ptr<const T> object, std::string suffix) {
    if (object)
      companions_.push_back(
          std::make_shared<CompanionOf<T, Companion>>(std::move(object), std::move(suffix)));
  };
  add(stores.of<api::Device>().get({"", name}), "");
  add(stores.of<CpuReport>().get({"", name}), "");
  add(stores.of<api::CSINode>().get({"", name}), "");
  if (name.empty()) return;
  for (const auto& [key, slice] : stores.of<api::ResourceSlice>().all())
    if (slice->spec.nodeName == name) add(slice, "-" + key.name);
}

void NodeShape::create(ScratchServer& server, const std::string& name) const {
  for (const auto& companion : companions_) companion->create(stores_, name);
  server.createNode(nodeLike(node_, name));
}

void NodeShape::remove(ScratchServer& server, const std::string& name) const {
  server.deleteNode(name);
  for (const auto& companion : companions_) companion->remove(stores_, name);
}

}  // namespace koord::scheduler::oracle
