#pragma once

// A whole scheduler with gangs, for tests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "scheduler/core/scheduler_fixture.h"
#include "scheduler/plugins/coscheduling/plugin.h"

namespace koord::scheduler::testing {

struct GangFixture : SchedulerFixture {
  explicit GangFixture(json::value args = json::object()) {
    ProfileConfig& profile = configuration_.profiles.front();
    profile.plugins["multiPoint"].enabled.push_back({"Coscheduling", 0});
    profile.plugins["postFilter"] = {{{"Coscheduling", 0}, {"DefaultPreemption", 0}}, {"*"}};
    profile.pluginConfig.push_back({"Coscheduling", std::move(args), "args"});
    restart();
  }
  void restart() {
    create();
    scheduler->start();
  }
  using SchedulerFixture::create;

  std::shared_ptr<api::PodGroup> groupObject(const std::string& name, int minimum,
                                             api::StringMap annotations = {}) {
    auto group = std::make_shared<api::PodGroup>();
    group->metadata.name = name;
    group->metadata.namespace_ = "default";
    group->metadata.uid = "uid-of-" + name;
    group->metadata.annotations = std::move(annotations);
    group->spec.minMember = minimum;
    return group;
  }
  Store<api::PodGroup>& groups() { return scheduler->stores().of<api::PodGroup>(); }
  void gang(const std::string& name, int minimum, api::StringMap annotations = {}) {
    groups().set(groupObject(name, minimum, std::move(annotations)));
  }
  PodBuilder member(const std::string& name, const std::string& gang, const char* cpu = "1") {
    return aPod(name).label("pod-group.scheduling.sigs.k8s.io", gang).request("cpu", cpu);
  }
  PodBuilder light(const std::string& name, const std::string& gang, const std::string& minimum,
                   const char* cpu = "1") {
    PodBuilder pod = aPod(name).request("cpu", cpu);
    pod.object().metadata.annotations["gang.scheduling.koordinator.sh/name"] = gang;
    pod.object().metadata.annotations["gang.scheduling.koordinator.sh/min-available"] = minimum;
    return pod;
  }
  void members(const std::string& gang, int from, int to, const char* cpu = "1") {
    for (int i = from; i < to; ++i) create(member(gang + "-" + std::to_string(i), gang, cpu));
  }
  // Gang "g" on two nodes of 4 CPUs of which 0.5 are used. Scores put the first two members on a
  // node each; the third needs one of these nodes.
  void membersOfTwoSizes() {
    for (const char* name : {"n1", "n2"}) node(aNode(name));
    for (const char* low : {"low-1", "low-2"}) create(aPod(low).request("cpu", "500m").priority(1));
    run();
    ASSERT_NE(nodeOf("low-1"), nodeOf("low-2"));
    gang("g", 3);
    for (const char* name : {"g-0", "g-1"}) create(member(name, "g", "1500m").priority(10));
    create(member("g-2", "g", "3500m").priority(10));
  }
  std::set<std::string> placed() {
    std::set<std::string> names;
    for (const auto& [name, pod] : pods)
      if (!pod->spec.nodeName.empty()) names.insert(name);
    return names;
  }
  std::string annotationOf(const std::string& pod, std::string_view key) {
    const auto* value = api::findIn(pods.at(pod)->metadata.annotations, key);
    return value ? *value : std::string("-");
  }
  std::string lastCondition(const std::string& pod) {
    for (auto it = conditions.rbegin(); it != conditions.rend(); ++it)
      if (it->starts_with(pod + " ")) return *it;
    return {};
  }
  std::size_t attemptsOf(const std::string& pod) {
    const auto* decisions = scheduler->decisions().of("default/" + pod);
    return decisions && !decisions->empty() ? static_cast<std::size_t>(decisions->back().attempt)
                                            : 0;
  }
  Result<json::value> ask(const std::string& path) {
    const auto& profile = scheduler->profiles().begin()->second->profile();
    for (auto* service : profile.offers<ServicePlugin>())
      for (auto& route : service->routes())
        if (path.starts_with(route.path)) return route.answer(path.substr(route.path.size()));
    return fail(ErrorCode::NotFound, "no route");
  }
  void expectSound() {
    const Cluster& cluster = scheduler->cluster();
    cluster.live().forEach([&](NodeId node) { EXPECT_EQ(cluster.verifyNode(node), ""); });
  }
};

}  // namespace koord::scheduler::testing
