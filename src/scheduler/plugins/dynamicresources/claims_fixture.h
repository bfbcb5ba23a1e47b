#pragma once

// For tests: DynamicResources alone in a profile, three nodes, and an API that serves claims.

#include <gtest/gtest.h>

#include "scheduler/plugins/dynamicresources/plugin.h"
#include "scheduler/plugins/dynamicresources/selector_compiler.h"
#include "scheduler/testing/claims.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler {

// The answer of Filter for a node without devices for the claims.
inline const std::string kNoDevices = testing::kUnresolvable + "cannot allocate all claims";

// n1 has two GPUs, n2 has four, n3 has none. Claims are served by an API.
struct Claims : ::testing::Test {
  using Answers = std::map<std::string, std::string>;
  testing::World world;
  Stores& stores = world.stores();
  DynamicResources* plugin = nullptr;
  testing::ClaimApi api{world.loop(), stores.of<api::ResourceClaim>()};
  TaskGroup tasks;

  Claims() {
    world.apiToUse = &api;
    plugin = &dynamic_cast<DynamicResources&>(world.only(
        std::make_unique<DynamicResources>(world, DynamicResourcesArgs{}, celSelectors())));
    for (const char* node : {"n1", "n2", "n3"}) world.node(testing::aNode(node));
    stores.of<api::ResourceSlice>().set(testing::gpuSlice("n1", 2));
    stores.of<api::ResourceSlice>().set(testing::gpuSlice("n2", 4));
    stores.of<api::DeviceClass>().set(testing::gpuClass());
  }
  DeviceManager& manager() { return DeviceManager::of(world); }
  NodeId id(const char* node) { return *world.cluster().findNode(node); }
  Answers filter(const testing::PodBuilder& pod) { return world.filter(world.pod(pod)); }
  std::string filter(const testing::PodBuilder& pod, const char* node) { return filter(pod)[node]; }
  // One attempt up to Reserve.
  struct Attempt {
    CycleState state;
    PodPtr pod;
    NodeId node = kNoNode;
    std::optional<Status> bound;
  };
  std::unique_ptr<Attempt> reserve(const testing::PodBuilder& builder, const char* node) {
    auto attempt = std::make_unique<Attempt>();
    attempt->pod = world.pod(builder);
    attempt->node = id(node);
    EXPECT_TRUE(world.cluster().assume(attempt->pod, attempt->node));
    const Status status = plugin->reserve(attempt->state, attempt->pod, attempt->node);
    EXPECT_TRUE(status.ok()) << status.message();
    return attempt;
  }
  static Task<void> run(DynamicResources* plugin, Attempt* attempt) {
    auto task = plugin->preBind(attempt->state, attempt->pod, attempt->node);
    attempt->bound = co_await task;
  }
  // Runs PreBind, until its end or for `time`. Returns "" for success, the message of a failure, or
  // "running".
  std::string preBind(Attempt& attempt, Duration time = std::chrono::seconds(1)) {
    tasks.spawn(run(plugin, &attempt));
    return wait(attempt, time);
  }
  std::string wait(Attempt& attempt, Duration time) {
    world.loop().advanceUntil([&] { return attempt.bound.has_value(); }, time);
    return attempt.bound ? attempt.bound->message() : "running";
  }
  // The informer shows the pod on its node.
  void observe(const Attempt& attempt) {
    testing::PodBuilder pod = testing::podWithClaims(attempt.pod->pod->metadata.name, {});
    pod.object() = *attempt.pod->pod;
    pod.nodeName(world.cluster().node(attempt.node).name);
    world.cluster().observePod(world.pod(pod), world.cluster().node(attempt.node).name);
  }
  void forget(Attempt& attempt) {
    plugin->unreserve(attempt.state, attempt.pod, attempt.node);
    EXPECT_TRUE(world.cluster().forget(attempt.pod->uid()));
    world.loop().advance(std::chrono::seconds(1));
  }
  Status postFilter(const testing::PodBuilder& builder) {
    const PodPtr pod = world.pod(builder);
    CycleState state;
    const SearchResult found = world.search().find(state, pod);
    EXPECT_FALSE(found.status.ok());
    PostFilterResult result = plugin->postFilter(state, pod, found.diagnosis);
    if (!result.later) return result.status;
    std::optional<Status> status;
    tasks.spawn(finish(*std::move(result.later), &status));
    world.loop().advance(std::chrono::seconds(1));
    return *status;
  }
  static Task<void> finish(Task<PostFilterResult> task, std::optional<Status>* out) {
    const PostFilterResult result = co_await task;
    *out = result.status;
  }
};

}  // namespace koord::scheduler
