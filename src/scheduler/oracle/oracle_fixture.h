#pragma once

// A scheduler that tests ask, on virtual time, and a caller with some rights.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "base/yaml.h"
#include "scheduler/config/shipped.h"
#include "scheduler/core/scheduler_fixture.h"
#include "scheduler/oracle/access.h"
#include "scheduler/oracle/oracle.h"

namespace koord::scheduler::oracle::testing {

using scheduler::testing::aNode;
using scheduler::testing::aPod;
using scheduler::testing::PodBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The document with this spec, as YAML.
inline json::value simulationWith(std::string_view spec) {
  return simulationOf(*parseYaml(spec));
}

// A scheduler behind a seam, with the shipped configuration.
struct Asked : scheduler::testing::SchedulerFixture {
  Seam seam{loop, api};
  PodExists exists;
  forecast::RunHistory history{loop};
  ForkLimits limits{.time = std::chrono::minutes(2)};  // tests share the host with others

  Asked() {
    SchedulerOptions options;
    options.configuration = *parseConfiguration(shippedConfiguration({"default-scheduler"}));
    scheduler = *Scheduler::create(std::move(options), registry, seam.executor, &seam.api);
    scheduler->hooks().podChanging = [this](const auto& before, const auto& after) {
      history.podChanging(before, after);
    };
    scheduler->start();
  }
  ~Asked() { scheduler.reset(); }

  Result<json::value> ask(std::string_view spec, const CompletePods& complete = {}) {
    const auto question = readQuestion(simulationWith(spec));
    if (!question) return fail(Error(question.error()));
    auto child =
        oracle::ask(*scheduler, seam, registry, *question, complete, limits, exists, &history);
    if (!child) return fail(Error(child.error()));
    const std::atomic<bool> cancelled = false;
    const auto text = answerOf(*std::move(child), cancelled);
    if (!text) return fail(Error(text.error()));
    auto answer = parseJson(*text);
    return memberOf(*answer, "status");
  }
  std::string refusal(std::string_view spec) {
    const auto answer = ask(spec);
    return answer ? "answered: " + toJson(*answer) : answer.error().message;
  }
  std::shared_ptr<const api::Pod> runs(PodBuilder pod, const std::string& node) {
    auto bound = pod.nodeName(node).build();
    pods[bound->metadata.name] = bound;
    scheduler->podAdded(bound);
    return bound;
  }
};

// May do what the set says: "list pods in namespace \"a\"".
class SomeCaller final : public kube::Caller {
 public:
  explicit SomeCaller(std::set<std::string> rights) : rights_(std::move(rights)) {}
  const std::string& name() const override { return name_; }
  Task<Result<bool>> may(kube::ResourceAccess access) const override {
    co_return rights_.contains(describe(access));
  }
  const std::string& identity() const override { return name_; }
  const std::string& token() const override { return token_; }
  Task<Result<>> stillValid() const override { co_return Result<>(); }

 private:
  const std::string name_ = "someone";
  const std::string token_;
  const std::set<std::string> rights_;
};

// A pod of a workload of this kind.
inline PodBuilder ownedPod(const char* name, const char* kind) {
  auto pod = aPod(name).request("cpu", "1");
  api::OwnerReference owner;
  owner.apiVersion = "apps/v1";
  owner.kind = kind;
  owner.name = "set";
  owner.controller = true;
  pod.object().metadata.ownerReferences.push_back(std::move(owner));
  return pod;
}

// "name node" for each pod of the answer.
inline std::vector<std::string> placesIn(const json::value& status) {
  std::vector<std::string> places;
  for (const json::value& pod : memberOf(status, "pods").get_array())
    places.push_back(
        fmt::format("{} {}", textAt(pod, "name"),
                    textAt(pod, "state") == "placed" ? textAt(pod, "node") : textAt(pod, "state")));
  return places;
}

inline std::string podText(const std::string& name, const std::string& cpu, int priority = 0) {
  return fmt::format(
      "{{apiVersion: v1, kind: Pod, metadata: {{name: {}}}, spec: {{priority: {}, containers: "
      "[{{name: main, resources: {{requests: {{cpu: '{}'}}}}}}]}}}}",
      name, priority, cpu);
}

inline std::string deploymentText(const std::string& name, std::int64_t replicas,
                                  const std::string& cpu) {
  return fmt::format(
      "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: {}}}, spec: {{replicas: {}, "
      "selector: {{matchLabels: {{app: {}}}}}, template: {{metadata: {{labels: {{app: {}}}}}, "
      "spec: {{containers: [{{name: main, resources: {{limits: {{cpu: '{}'}}}}}}]}}}}}}}}",
      name, replicas, name, name, cpu);
}

}  // namespace koord::scheduler::oracle::testing
