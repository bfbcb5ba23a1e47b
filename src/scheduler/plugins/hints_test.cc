// Which events each default plugin registers for, and when they wake a pod that it rejected.
// Spreading and affinity between pods have tests of their own.

#include <gtest/gtest.h>

#include "scheduler/plugins/registry.h"
#include "scheduler/testing/volumes.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::NodeBuilder;
using testing::PodBuilder;
using testing::World;

struct Hints {
  World world;
  Hints() { EXPECT_TRUE(world.configure(makeRegistry()).empty()); }

  // "queue" or "skip"; "none" if the plugin has not registered for the event.
  std::string ask(const std::string& plugin, const PodBuilder& pod, const ClusterEvent& event) {
    const PodPtr info = world.pod(pod);
    std::string answer = "none";
    for (const auto& registration : world.profile().registrations) {
      if (registration.plugin != plugin) continue;
      for (const auto& entry : registration.events) {
        if (!matches(entry, event)) continue;
        if (!entry.hint || entry.hint(*info, event) == Hint::Queue) return "queue";
        answer = "skip";
      }
    }
    return answer;
  }
  std::string added(const std::string& plugin, const PodBuilder& pod, const NodeBuilder& node) {
    ClusterEvent event;
    event.resource = EventResource::Node;
    event.actions = action::kAdd;
    event.newNode = node.build();
    return ask(plugin, pod, event);
  }
  std::string changed(const std::string& plugin, const PodBuilder& pod, const NodeBuilder& before,
                      const NodeBuilder& after) {
    ClusterEvent event;
    event.resource = EventResource::Node;
    event.oldNode = before.build();
    event.newNode = after.build();
    std::string answer = "none";
    for (const Actions change : nodeActions(*event.oldNode, *event.newNode)) {
      event.actions = change;
      const std::string one = ask(plugin, pod, event);
      if (one == "queue" || answer == "none") answer = one;
    }
    return answer;
  }
  // The pod itself is updated from `before`.
  std::string podChanged(const std::string& plugin, const PodBuilder& pod, const PodBuilder& before,
                         const PodBuilder& after) {
    ClusterEvent event;
    event.oldPod = world.pod(before);
    event.newPod = world.pod(after);
    event.resource = event.newPod->pod->spec.nodeName.empty() ? EventResource::UnscheduledPod
                                                              : EventResource::AssignedPod;
    std::string answer = "none";
    for (const Actions change : podActions(*event.oldPod, *event.newPod)) {
      event.actions = change;
      const std::string one = ask(plugin, pod, event);
      if (one == "queue" || answer == "none") answer = one;
    }
    return answer;
  }
  std::string deleted(const std::string& plugin, const PodBuilder& pod, const PodBuilder& gone) {
    ClusterEvent event;
    event.resource = EventResource::AssignedPod;
    event.actions = action::kDelete;
    event.oldPod = world.pod(gone);
    return ask(plugin, pod, event);
  }
  template <class T>
  std::string object(const std::string& plugin, const PodBuilder& pod, EventResource resource,
                     Actions actions, std::optional<T> before, std::optional<T> after) {
    ClusterEvent event;
    event.resource = resource;
    event.actions = actions;
    if (before) event.oldObject = std::make_shared<const T>(*std::move(before));
    if (after) event.newObject = std::make_shared<const T>(*std::move(after));
    return ask(plugin, pod, event);
  }
};

TEST(Hints, of_plugins_that_look_at_nodes) {
  Hints h;
  struct Row {
    const char* plugin;
    PodBuilder pod;
    std::optional<NodeBuilder> before;  // nullopt: the node is new
    NodeBuilder after;
    const char* answer;
  };
  const auto ssd = [] { return aPod("p").nodeSelector("disk", "ssd"); };
  const auto two = [] { return aPod("p").request("cpu", "2"); };
  const auto declaring = [](const char* name) {
    NodeBuilder node = aNode(name);
    node.object().status.declaredFeatures = {"F"};
    return node;
  };
  for (const Row& row : {
           Row{"NodeUnschedulable", aPod("p"), {}, aNode("n"), "queue"},
           Row{"NodeUnschedulable", aPod("p"), {}, aNode("n").unschedulable(), "skip"},
           Row{"NodeUnschedulable", aPod("p"), aNode("n").unschedulable(), aNode("n"), "queue"},
           Row{"NodeUnschedulable", aPod("p"), aNode("n"), aNode("n").label("a", "b"), "none"},
           Row{"NodeDeclaredFeatures", aPod("p"), {}, aNode("n"), "queue"},
           Row{"NodeDeclaredFeatures", aPod("p"), aNode("n"), declaring("n"), "queue"},
           Row{"NodeDeclaredFeatures", aPod("p"), declaring("n"), declaring("n"), "none"},
           Row{"NodeName", aPod("p").nodeName("n"), {}, aNode("n"), "queue"},
           Row{"NodeName", aPod("p").nodeName("n"), {}, aNode("m"), "skip"},
           Row{"TaintToleration", aPod("p"), {}, aNode("n").taint("a"), "skip"},
           Row{"TaintToleration", aPod("p").toleration("a"), {}, aNode("n").taint("a"), "queue"},
           Row{"TaintToleration", aPod("p"), aNode("n").taint("a"), aNode("n"), "queue"},
           Row{"TaintToleration", aPod("p"), aNode("n"),
               aNode("n").taint("a", "", "PreferNoSchedule"), "skip"},
           Row{"TaintToleration", aPod("p"), aNode("n").taint("a"), aNode("n").taint("b"), "skip"},
           Row{"NodeAffinity", ssd(), {}, aNode("n").label("disk", "ssd"), "queue"},
           Row{"NodeAffinity", ssd(), {}, aNode("n"), "skip"},
           Row{"NodeAffinity", ssd(), aNode("n"), aNode("n").label("disk", "ssd"), "queue"},
           Row{"NodeAffinity", ssd(), aNode("n").label("disk", "ssd"),
               aNode("n").label("disk", "ssd").label("a", "b"), "skip"},
           Row{"NodePorts", aPod("p").hostPort(80), {}, aNode("n"), "queue"},
           Row{"NodePorts", aPod("p").hostPort(80), aNode("n"), aNode("n").label("a", "b"), "none"},
           Row{"NodeResourcesFit", two(), {}, aNode("n"), "queue"},
           Row{"NodeResourcesFit", two(), {}, aNode("n").allocatable("cpu", "1"), "skip"},
           Row{"NodeResourcesFit", two(), aNode("n").allocatable("cpu", "3"), aNode("n"), "queue"},
           Row{"NodeResourcesFit", two(), aNode("n"), aNode("n").allocatable("memory", "9Gi"),
               "skip"},
           Row{"NodeResourcesFit", two(), aNode("n"), aNode("n").label("a", "b"), "none"},
           Row{"VolumeBinding", aPod("p").claim("c"), {}, aNode("n"), "queue"},
           Row{"VolumeBinding", aPod("p").claim("c"), aNode("n"), aNode("n").label("a", "b"),
               "queue"},
           Row{"VolumeZone", aPod("p").claim("c"), aNode("n"), aNode("n").label("a", "b"), "queue"},
           Row{"VolumeRestrictions", aPod("p").claim("c"), {}, aNode("n"), "queue"},
           Row{"NodeVolumeLimits", aPod("p").claim("c"), {}, aNode("n"), "none"},
           Row{"SchedulingGates", aPod("p"), {}, aNode("n"), "none"},
           Row{"DefaultPreemption", aPod("p"), {}, aNode("n"), "none"},
       }) {
    const std::string answer = row.before ? h.changed(row.plugin, row.pod, *row.before, row.after)
                                          : h.added(row.plugin, row.pod, row.after);
    EXPECT_EQ(answer, row.answer) << row.plugin;
  }
}

TEST(Hints, of_plugins_that_look_at_pods) {
  Hints h;
  const auto pod = aPod("p").request("cpu", "2").hostPort(80).claim("c");
  struct Deleted {
    const char* plugin;
    PodBuilder gone;
    const char* answer;
  };
  for (const Deleted& row : {
           Deleted{"NodePorts", aPod("q").hostPort(80).nodeName("n"), "queue"},
           Deleted{"NodePorts", aPod("q").hostPort(81).nodeName("n"), "skip"},
           Deleted{"NodePorts", aPod("q").hostPort(80), "skip"},
           Deleted{"NodePorts", aPod("q").hostPort(80).nominated("n"), "queue"},
           Deleted{"NodeResourcesFit", aPod("q").nodeName("n"), "queue"},
           Deleted{"NodeResourcesFit", aPod("q").nominated("n"), "queue"},
           Deleted{"NodeResourcesFit", aPod("q"), "skip"},
           Deleted{"VolumeRestrictions", aPod("q").claim("c").nodeName("n"), "queue"},
           Deleted{"VolumeRestrictions", aPod("q").claim("d").nodeName("n"), "skip"},
           Deleted{"VolumeRestrictions", aPod("q", "other").claim("c").nodeName("n"), "skip"},
           Deleted{"NodeVolumeLimits", aPod("q").claim("d").nodeName("n"), "queue"},
           Deleted{"NodeVolumeLimits", aPod("q").nodeName("n"), "skip"},
           Deleted{"DefaultPreemption", aPod("q").nodeName("n"), "skip"},
           Deleted{"TaintToleration", aPod("q").nodeName("n"), "none"},
           Deleted{"NodeAffinity", aPod("q").nodeName("n"), "none"},
       }) {
    EXPECT_EQ(h.deleted(row.plugin, pod, row.gone), row.answer) << row.plugin;
  }

  struct Changed {
    const char* plugin;
    PodBuilder before, after;
    const char* answer;
  };
  for (const Changed& row : {
           Changed{"SchedulingGates", aPod("p").gate("a"), aPod("p"), "queue"},
           Changed{"SchedulingGates", aPod("q").gate("a"), aPod("q"), "skip"},
           Changed{"SchedulingGates", aPod("p").gate("a"), aPod("p").gate("a").label("a", "b"),
                   "none"},
           Changed{"TaintToleration", aPod("p"), aPod("p").toleration("a"), "queue"},
           Changed{"TaintToleration", aPod("q"), aPod("q").toleration("a"), "skip"},
           Changed{"NodeUnschedulable", aPod("p"), aPod("p").toleration("a"), "skip"},
           Changed{"NodeUnschedulable", aPod("p"),
                   aPod("p").toleration("node.kubernetes.io/unschedulable"), "queue"},
           Changed{"NodeResourcesFit", aPod("p").request("cpu", "2"), aPod("p").request("cpu", "1"),
                   "queue"},
           Changed{"NodeResourcesFit", aPod("q").request("cpu", "2").nodeName("n"),
                   aPod("q").request("cpu", "1").nodeName("n"), "queue"},
           Changed{"NodeResourcesFit", aPod("q").request("memory", "2Gi").nodeName("n"),
                   aPod("q").request("memory", "1Gi").nodeName("n"), "skip"},
           Changed{"NodeResourcesFit", aPod("q").request("cpu", "1").nodeName("n"),
                   aPod("q").request("cpu", "2").nodeName("n"), "none"},
       }) {
    EXPECT_EQ(h.podChanged(row.plugin, pod, row.before, row.after), row.answer) << row.plugin;
  }
}

TEST(Hints, of_plugins_that_look_at_storage) {
  Hints h;
  const auto pod = aPod("p").claim("c");
  using Resource = EventResource;
  const auto claim = [](std::string name, std::string space = "default") {
    api::PersistentVolumeClaim result;
    result.metadata.name = std::move(name);
    result.metadata.namespace_ = std::move(space);
    return result;
  };
  for (const char* plugin :
       {"VolumeBinding", "VolumeZone", "VolumeRestrictions", "NodeVolumeLimits"}) {
    const auto added = [&](const api::PersistentVolumeClaim& object) {
      return h.object<api::PersistentVolumeClaim>(plugin, pod, Resource::PersistentVolumeClaim,
                                                  action::kAdd, {}, object);
    };
    EXPECT_EQ(added(claim("c")), "queue") << plugin;
    EXPECT_EQ(added(claim("d")), "skip") << plugin;
    EXPECT_EQ(added(claim("c", "other")), "skip") << plugin;
  }

  api::PersistentVolume here, there;
  here.metadata.labels["topology.kubernetes.io/zone"] = "one";
  there.metadata.labels["topology.kubernetes.io/zone"] = "two";
  EXPECT_EQ(h.object<api::PersistentVolume>("VolumeZone", pod, Resource::PersistentVolume,
                                            action::kUpdate, here, there),
            "queue");
  EXPECT_EQ(h.object<api::PersistentVolume>("VolumeZone", pod, Resource::PersistentVolume,
                                            action::kUpdate, here, here),
            "skip");
  EXPECT_EQ(h.object<api::PersistentVolume>("VolumeBinding", pod, Resource::PersistentVolume,
                                            action::kUpdate, here, here),
            "queue");

  api::StorageClass later, atOnce;
  later.volumeBindingMode = "WaitForFirstConsumer";
  atOnce.volumeBindingMode = "Immediate";
  const auto classAdded = [&](const char* plugin, const api::StorageClass& class_) {
    return h.object<api::StorageClass>(plugin, pod, Resource::StorageClass, action::kAdd, {},
                                       class_);
  };
  EXPECT_EQ(classAdded("VolumeZone", later), "queue");
  EXPECT_EQ(classAdded("VolumeZone", atOnce), "skip");
  EXPECT_EQ(classAdded("VolumeBinding", atOnce), "queue");
  EXPECT_EQ(h.object<api::StorageClass>("VolumeBinding", pod, Resource::StorageClass,
                                        action::kUpdate, later, later),
            "skip");

  const auto csiNode = [](std::optional<std::int32_t> limit, std::string migrated = "") {
    api::CSINode result;
    auto& driver = result.spec.drivers.emplace_back();
    driver.name = "csi";
    if (limit) driver.allocatable.emplace().count = *limit;
    if (!migrated.empty())
      result.metadata.annotations["storage.alpha.kubernetes.io/migrated-plugins"] = migrated;
    return result;
  };
  const auto csiNodeChanged = [&](const char* plugin, const api::CSINode& before,
                                  const api::CSINode& after) {
    return h.object<api::CSINode>(plugin, pod, Resource::CSINode, action::kUpdate, before, after);
  };
  EXPECT_EQ(csiNodeChanged("NodeVolumeLimits", csiNode(1), csiNode(2)), "queue");
  EXPECT_EQ(csiNodeChanged("NodeVolumeLimits", csiNode(2), csiNode(1)), "skip");
  EXPECT_EQ(csiNodeChanged("NodeVolumeLimits", csiNode(2), csiNode({})), "queue");
  EXPECT_EQ(csiNodeChanged("VolumeBinding", csiNode(1), csiNode(2)), "skip");
  EXPECT_EQ(csiNodeChanged("VolumeBinding", csiNode(1), csiNode(1, "kubernetes.io/aws-ebs")),
            "queue");

  EXPECT_EQ(h.object<api::VolumeAttachment>("NodeVolumeLimits", pod, Resource::VolumeAttachment,
                                            action::kDelete, api::VolumeAttachment{}, {}),
            "queue");
  EXPECT_EQ(
      h.object<api::VolumeAttachment>("NodeVolumeLimits", aPod("p"), Resource::VolumeAttachment,
                                      action::kDelete, api::VolumeAttachment{}, {}),
      "skip");

  const auto capacity = [](const char* size) {
    api::CSIStorageCapacity result;
    if (*size) result.capacity = testing::quantity(size);
    return result;
  };
  const auto capacityChanged = [&](const char* before, const char* after) {
    return h.object<api::CSIStorageCapacity>("VolumeBinding", pod, Resource::CSIStorageCapacity,
                                             action::kUpdate, capacity(before), capacity(after));
  };
  EXPECT_EQ(capacityChanged("1Gi", "2Gi"), "queue");
  EXPECT_EQ(capacityChanged("2Gi", "1Gi"), "skip");
  EXPECT_EQ(capacityChanged("", "1Gi"), "queue");
  EXPECT_EQ(capacityChanged("1Gi", ""), "skip");
}

}  // namespace
}  // namespace koord::scheduler
