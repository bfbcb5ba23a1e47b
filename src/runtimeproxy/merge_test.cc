#include "runtimeproxy/merge.h"

#include <gmock/gmock.h>

#include "runtimeproxy/runtime_view.h"

namespace koord::runtimeproxy {
namespace {

using testing::ElementsAre;

Resources resources(std::int64_t period, std::int64_t quota, std::int64_t shares,
                    std::int64_t memory, std::int64_t score, const std::string& cpus) {
  Resources made;
  made.set_cpu_period(period);
  made.set_cpu_quota(quota);
  made.set_cpu_shares(shares);
  made.set_memory_limit_in_bytes(memory);
  made.set_oom_score_adj(score);
  made.set_cpuset_cpus(cpus);
  return made;
}

TEST(Merge, AnAnswerThatRepeatsTheQuestionIsTakenByItsWord) {
  Resources known = resources(100'000, 200'000, 1024, 4096, 985, "0-3");
  Resources answer = known;
  answer.set_cpu_quota(-1);
  answer.set_cpuset_cpus("");
  answer.set_oom_score_adj(0);
  mergeAnswer(answer, known);
  EXPECT_EQ(known.cpu_quota(), -1);
  EXPECT_EQ(known.cpuset_cpus(), "");
  EXPECT_EQ(known.oom_score_adj(), 0);
  EXPECT_EQ(known.memory_limit_in_bytes(), 4096);
}

TEST(Merge, APartialAnswerLeavesWhatItDoesNotSay) {
  Resources known = resources(100'000, 200'000, 1024, 0, 985, "0-3");
  Resources answer;
  answer.set_cpu_shares(512);
  mergeAnswer(answer, known);
  EXPECT_EQ(known.cpu_shares(), 512);
  EXPECT_EQ(known.cpu_quota(), 200'000);
  EXPECT_EQ(known.cpuset_cpus(), "0-3");
  EXPECT_EQ(known.oom_score_adj(), 985);
}

TEST(Merge, AnOomScoreBeyondTheKernelsRangeIsNotTaken) {
  Resources known = resources(1, 1, 1, 1, 985, "");
  Resources answer = known;
  answer.set_oom_score_adj(1001);
  mergeAnswer(answer, known);
  EXPECT_EQ(known.oom_score_adj(), 985);
}

TEST(Merge, UnifiedValuesAreMergedByKey) {
  Resources known = resources(1, 1, 1, 1, 0, ""), answer = known;
  (*known.mutable_unified())["memory.high"] = "1";
  (*answer.mutable_unified())["memory.low"] = "2";
  mergeAnswer(answer, known);
  EXPECT_EQ(known.unified().at("memory.high"), "1");
  EXPECT_EQ(known.unified().at("memory.low"), "2");
}

TEST(Merge, AnUpdateTakesWhatIsSetAndNeverTheOomScore) {
  Resources known = resources(100'000, 200'000, 1024, 4096, 985, "0-3");
  Resources update;
  update.set_cpuset_cpus("0-7");
  update.set_cpu_quota(-1);
  update.set_oom_score_adj(5);
  mergeUpdate(update, known);
  EXPECT_EQ(known.cpuset_cpus(), "0-7");
  EXPECT_EQ(known.cpu_quota(), -1);
  EXPECT_EQ(known.cpu_shares(), 1024);
  EXPECT_EQ(known.oom_score_adj(), 985);
}

cri::CreateContainerRequest requestWith(
    const std::vector<std::pair<std::string, std::string>>& variables) {
  cri::CreateContainerRequest request;
  for (const auto& [key, value] : variables) {
    auto* variable = request.mutable_config()->add_envs();
    variable->set_key(key);
    variable->set_value(value);
  }
  return request;
}

TEST(Merge, VariablesKeepTheirPlacesAndNewOnesFollowSorted) {
  auto request = requestWith({{"Z", "1"}, {"A", "2"}, {"Z", "3"}, {"GONE", ""}});
  auto known = containerOf(request);
  EXPECT_EQ(known.container_envs().at("Z"), "3");
  runtimehook::ContainerResourceHookResponse answer;
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"Z", "3"}, {"A", "two"}, {"NEW2", "n"}, {"NEW1", "\xff"}})
    (*answer.mutable_container_envs())[key] = value;
  merge(answer, known);
  apply(known, true, request);
  std::vector<std::string> texts;
  for (const auto& variable : request.config().envs())
    texts.push_back(variable.key() + "=" + variable.value());
  EXPECT_THAT(texts, ElementsAre("Z=3", "A=two", "NEW1=\xff", "NEW2=n"));
}

TEST(Merge, APodsAnnotationsAreAddedAndNeverRemoved) {
  cri::RunPodSandboxRequest request;
  (*request.mutable_config()->mutable_annotations())["a"] = "1";
  request.mutable_config()->mutable_linux()->set_cgroup_parent("/kubepods/pod1");
  auto known = podOf(request.config(), "runc");
  EXPECT_EQ(known.cgroup_parent(), "/kubepods/pod1");
  runtimehook::PodSandboxHookResponse answer;
  (*answer.mutable_annotations())["b"] = "2";
  merge(answer, known);
  apply(known, request);
  EXPECT_EQ(request.config().annotations().at("a"), "1");
  EXPECT_EQ(request.config().annotations().at("b"), "2");
  EXPECT_EQ(request.config().linux().cgroup_parent(), "/kubepods/pod1");
}

TEST(RuntimeView, TheSpecificationOfAContainerTellsWhatItHas) {
  runtimehook::ContainerResourceHookRequest container;
  readRuntimeSpec(R"({"sandboxID":"s","runtimeSpec":{
      "process":{"env":["PATH=/bin","NOVALUE","A=b=c"],"oomScoreAdj":985},
      "linux":{"cgroupsPath":"/kubepods/besteffort/pod1/c1","resources":{
        "cpu":{"shares":1024,"quota":-1,"period":100000,"cpus":"0-1"},
        "memory":{"limit":1048576},"unified":{"memory.high":"5"}}}}})",
                  container);
  const auto& found = container.container_resources();
  EXPECT_EQ(found.cpu_shares(), 1024);
  EXPECT_EQ(found.cpu_quota(), -1);
  EXPECT_EQ(found.cpuset_cpus(), "0-1");
  EXPECT_EQ(found.memory_limit_in_bytes(), 1048576);
  EXPECT_EQ(found.oom_score_adj(), 985);
  EXPECT_EQ(found.unified().at("memory.high"), "5");
  EXPECT_EQ(container.pod_cgroup_parent(), "/kubepods/besteffort/pod1");
  EXPECT_EQ(container.container_envs().at("A"), "b=c");
  EXPECT_EQ(container.container_envs().size(), 2u);
}

TEST(RuntimeView, WhatIsNoSpecificationTellsNothing) {
  for (const char* text : {"", "[]", "{", R"({"runtimeSpec":[]})", R"({"runtimeSpec":{"linux":1}})",
                           R"({"runtimeSpec":{"process":{"env":{}}}})"}) {
    runtimehook::ContainerResourceHookRequest container;
    readRuntimeSpec(text, container);
    EXPECT_TRUE(container.container_envs().empty()) << text;
    EXPECT_EQ(cgroupParentIn(text), "") << text;
  }
  EXPECT_EQ(cgroupParentIn(R"({"config":{"linux":{"cgroup_parent":"/kubepods/pod1"}}})"),
            "/kubepods/pod1");
  EXPECT_EQ(
      cgroupParentIn(R"({"runtimeSpec":{"linux":{"cgroupsPath":"kubepods-pod1.slice:crio:abc"}}})"),
      "kubepods-pod1.slice");
}

}  // namespace
}  // namespace koord::runtimeproxy
