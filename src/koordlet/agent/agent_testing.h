#pragma once

// A whole koordlet on a fake host made of files, with a small fake API server and kubelet. Tests
// state what happens on the node in each second and check how koordlet reacts.

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/codec.h"
#include "base/virtual_loop.h"
#include "koordlet/agent/agent.h"
#include "koordlet/testing/fake_core_sched.h"
#include "koordlet/testing/fake_host.h"
#include "kube/fake_api.h"

namespace koord::koordlet {

// The API objects of one node, and what koordlet writes to the API server.
class FakeCluster {
 public:
  explicit FakeCluster(Executor& executor) : api(executor) {
    api.answer = [this](const kube::Request& request) { return answer(request); };
    put("nodes", R"({"metadata":{"name":"n1","uid":"node"},
      "status":{"capacity":{"cpu":"16","memory":"64Gi"},"allocatable":{"cpu":"16","memory":"64Gi"}}})");
    put("nodemetrics", R"({"metadata":{"name":"n1","generation":1},
      "spec":{"metricCollectPolicy":{"reportIntervalSeconds":60}}})");
  }

  // Creates or replaces the node's object of that resource.
  void put(const std::string& resource, std::string_view object) {
    auto document = *parseJson(object);
    document.get_object()["metadata"].get_object()["resourceVersion"] = std::to_string(++version_);
    const bool known = objects_.contains(resource);
    objects_[resource] = document;
    const json::object event{{"type", known ? "MODIFIED" : "ADDED"}, {"object", document}};
    for (auto& watch : api.watches)
      if (watch.request.resource == resource) watch.sink.onEvent(toJson(event));
  }
  void putSlo(std::string_view threshold) {
    put("nodeslos", fmt::format(R"({{"metadata":{{"name":"n1"}},
      "spec":{{"resourceUsedThresholdWithBE":{}}}}})",
                                threshold));
  }

  kube::FakeApi api;
  std::vector<json::value> reports;      // NodeMetric status patches
  std::vector<std::string> evictions;    // pod names
  std::vector<std::string> events;       // "reason: message"
  std::vector<std::string> refusedPods;  // pods whose eviction a disruption budget forbids

 private:
  Result<std::string> answer(const kube::Request& request) {
    if (request.verb == kube::Verb::List) {
      json::array items;
      const auto it = objects_.find(request.resource);
      if (it != objects_.end()) items.push_back(it->second);
      return toJson(json::object{{"metadata", {{"resourceVersion", std::to_string(version_)}}},
                                 {"items", std::move(items)}});
    }
    if (request.resource == "nodemetrics" && request.verb == kube::Verb::Patch) {
      reports.push_back(*parseJson(request.body));
      return std::string("{}");
    }
    if (request.resource == "events" && request.verb == kube::Verb::Create) {
      const auto event = parseJson(request.body);
      if (event)
        events.push_back(
            fmt::format("{}: {}", textAt(*event, "reason"), textAt(*event, "message")));
    }
    if (request.subresource == "eviction") {
      if (std::ranges::find(refusedPods, request.name) != refusedPods.end())
        return fail(ErrorCode::TooManyRequests, "Cannot evict pod as it would violate its budget");
      evictions.push_back(request.name);
      return std::string("{}");
    }
    return std::string("{}");
  }

  std::map<std::string, json::value> objects_;
  int version_ = 1;
};

struct FakePods final : PodSource {
  std::vector<std::shared_ptr<const api::Pod>> pods;
  bool unreachable = false;
  int lists = 0;
  Task<Result<std::vector<std::shared_ptr<const api::Pod>>>> list(const api::Node&) override {
    ++lists;
    if (unreachable) co_return fail(ErrorCode::Unavailable, "connection refused");
    co_return pods;
  }
};

// Borrows the test's pods, so that they outlive an agent.
struct BorrowedPods final : PodSource {
  explicit BorrowedPods(FakePods& pods) : source(pods) {}
  FakePods& source;
  Task<Result<std::vector<std::shared_ptr<const api::Pod>>>> list(const api::Node& node) override {
    return source.list(node);
  }
};

// A koordlet on a fake host of 16 CPUs and 64 GiB, with a latency-sensitive pod "ls".
class AgentFixture : public testing::TestWithParam<CgroupVersion> {
 protected:
  AgentFixture() {
    options_.nodeName = "n1";
    options_.dirs = files_.dirs();
    options_.historyDir = files_.tree().path("history");
    options_.prediction.directory = files_.tree().path("predictions");
    options_.gates = *FeatureGates::parse("BEMemoryEvict=true");
    ls_ = addPod("ls", KubeQos::Burstable, "LS", 9500, "");
  }

  std::string addPod(const std::string& name, KubeQos kubeQos, const std::string& qos, int priority,
                     std::string_view resources) {
    const std::string id = "containerd://" + name + "-c";
    const std::string dir = files_.addPod(kubeQos, name, {id});
    const std::string text = fmt::format(
        R"({{"metadata":{{"name":"{0}","namespace":"d","uid":"{0}","labels":{{"koordinator.sh/qosClass":"{1}"}}}},
            "spec":{{"priority":{2},"containers":[{{"name":"c","resources":{{{3}}}}}]}},
            "status":{{"phase":"Running","qosClass":"{4}","containerStatuses":[
              {{"name":"c","containerID":"{5}","state":{{"running":{{}}}}}}]}}}})",
        name, qos, priority, resources, model::textOf(kubeQos), id);
    auto pod = api::decodeText<api::Pod>(text);
    EXPECT_TRUE(pod) << pod.error().message;
    pods_.pods.push_back(std::make_shared<const api::Pod>(*std::move(pod)));
    return files_.containerDir(dir, id);
  }

  void startAgent() {
    agent_ = std::make_unique<Agent>(
        loop_, cluster_.api, options_, *Host::detect(files_.dirs()), metrics_,
        AgentSources{std::make_unique<BorrowedPods>(pods_), nullptr, nullptr, std::move(runtime_),
                     std::make_unique<FakeCoreSched>(cookies_)},
        Random(7));
    agent_->start();
  }

  // One second in which the pods use that many cores. Counters move just before koordlet's round.
  void second(double ls, double be, double system = 0.5) {
    files_.consumeCpu(ls_, ls, std::chrono::seconds(1));
    if (!be_.empty()) files_.consumeCpu(be_, be, std::chrono::seconds(1));
    files_.consumeSystemCpu(system, std::chrono::seconds(1));
    loop_.advance(std::chrono::seconds(1));
    files_.settle();
  }
  void seconds(int count, double ls, double be) {
    for (int i = 0; i < count; ++i) second(ls, be);
  }

  std::string beDir() const { return qosDir(CgroupDriver::Cgroupfs, KubeQos::BestEffort); }
  CpuSet beCpus() const {
    return *CpuSet::parse(files_.cgroupText(CgroupFile::CpusetCpus, beDir()));
  }
  std::int64_t beQuota() {
    const auto layout = CgroupLayout::detect(files_.dirs());
    return CgroupReader(*layout).cfsQuotaUs(beDir()).value();
  }
  json::value qos() { return agent_->views().qos(); }

  VirtualLoop loop_;
  FakeHost files_{GetParam(), {.cpus = 16, .threadsPerCore = 2, .memoryBytes = 64 * kGiB}};
  FakeCluster cluster_{loop_};
  FakePods pods_;
  Metrics metrics_;
  AgentOptions options_;
  std::string ls_, be_;
  std::unique_ptr<ContainerRuntime> runtime_;
  FakeCookies cookies_;
  std::unique_ptr<Agent> agent_;
};

}  // namespace koord::koordlet
