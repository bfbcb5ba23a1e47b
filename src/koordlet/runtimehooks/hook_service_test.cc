#include "koordlet/runtimehooks/hook_service.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "base/event_loop.h"
#include "base/file.h"
#include "base/virtual_loop.h"
#include "koordlet/hooks/batchresource/batch_resource.h"
#include "koordlet/testing/fake_host.h"
#include "net/rpc/grpc_channel.h"
#include "net/rpc/stream_testing.h"
#include "reflection.pb.h"
#include "runtime_hook.pb.h"

namespace koord::koordlet {
namespace {

using testing::HasSubstr;

constexpr const char* kSpec =
    R"({"containers":{"main":{
        "requests":{"kubernetes.io/batch-cpu":"1000","kubernetes.io/batch-memory":"2Gi"},
        "limits":{"kubernetes.io/batch-cpu":"2000","kubernetes.io/batch-memory":"4Gi"}}}})";

// A hook that sets values which apply only when a container is created.
class StartHook final : public Hook {
 public:
  void prepare(const States&, HookUpdates&) override { ++prepared; }
  void wanted(const PodView& pod, HookUpdates& updates) override {
    for (const auto& container : pod.containers)
      if (cpuset)
        updates.containers.push_back({CgroupFile::CpusetCpus, container.dir, *cpuset, "StartHook"});
  }
  Result<> starting(const PodView& pod, const ContainerView& container,
                    ContainerStart& start) override {
    start.env.emplace_back("GPUS", pod.pod->metadata.name + "/" + container.name);
    if (fails) return fail(ErrorCode::Invalid, "no such device");
    return {};
  }
  Result<> podStarting(const PodView& pod) override {
    started.push_back(pod.uid());
    return {};
  }
  void podRemoved(const PodView& pod) override { removed.push_back(pod.uid()); }

  int prepared = 0;
  bool fails = false;
  std::optional<std::string> cpuset;
  std::vector<std::string> started, removed;
};

class RuntimeHooksTest : public testing::Test {
 protected:
  RuntimeHooksTest()
      : files_(CgroupVersion::V1, {}),
        host_(*Host::detect(files_.dirs())),
        resources_(host_, loop_, {}, audit_),
        reconciler_(loop_, states_, resources_, std::chrono::seconds(10)),
        podDir_(files_.addPod(KubeQos::BestEffort, "u1", {})) {
    reconciler_.add("BatchResource", std::make_unique<BatchResourceHook>(host_));
    auto hook = std::make_unique<StartHook>();
    start_ = hook.get();
    reconciler_.add("Talkative", std::move(hook));
  }

  runtimehook::ContainerResourceHookRequest container() const {
    runtimehook::ContainerResourceHookRequest request;
    request.mutable_pod_meta()->set_name("be-1");
    request.mutable_pod_meta()->set_uid("u1");
    (*request.mutable_pod_labels())["koordinator.sh/qosClass"] = "BE";
    (*request.mutable_pod_annotations())["node.koordinator.sh/extended-resource-spec"] = kSpec;
    request.set_pod_cgroup_parent("/" + podDir_);
    request.mutable_container_meta()->set_name("main");
    auto& resources = *request.mutable_container_resources();
    resources.set_cpu_period(100'000);
    resources.set_cpu_shares(2);
    resources.set_oom_score_adj(1000);
    (*request.mutable_container_envs())["A"] = "\xff";
    return request;
  }
  runtimehook::ContainerResourceHookResponse ask(
      const std::string& method, const runtimehook::ContainerResourceHookRequest& request) {
    runtimehook::ContainerResourceHookResponse response;
    const auto reply = answerHook(runner(), method, request.SerializeAsString());
    EXPECT_TRUE(reply && response.ParseFromString(*reply)) << (reply ? "" : reply.error().text());
    return response;
  }
  HookRunner& runner() {
    if (!runner_)
      runner_ =
          std::make_unique<HookRunner>(loop_, host_, states_, reconciler_, resources_, options_);
    return *runner_;
  }

  VirtualLoop loop_;
  FakeHost files_;
  Host host_;
  AuditRing audit_;
  States states_;
  ResourceExecutor resources_;
  Reconciler reconciler_;
  std::string podDir_;
  StartHook* start_ = nullptr;
  HookRunner::Options options_;
  std::unique_ptr<HookRunner> runner_;
};

TEST_F(RuntimeHooksTest, AContainerGetsItsBatchResourcesAndKeepsWhatItHadOtherwise) {
  const auto answer = ask("PreCreateContainerHook", container());
  const auto& resources = answer.container_resources();
  EXPECT_EQ(resources.cpu_shares(), 1024);
  EXPECT_EQ(resources.cpu_quota(), 200'000);
  EXPECT_EQ(resources.memory_limit_in_bytes(), std::int64_t{4} << 30);
  EXPECT_EQ(resources.cpu_period(), 100'000);
  EXPECT_EQ(resources.oom_score_adj(), 1000);
  EXPECT_EQ(answer.container_envs().at("A"), "\xff");
  EXPECT_EQ(answer.container_envs().at("GPUS"), "be-1/main");
  EXPECT_EQ(answer.pod_cgroup_parent(), "/" + podDir_);
  // This call does not write the pod's cgroup.
  EXPECT_NE(files_.cgroupText(CgroupFile::CpuCfsQuota, podDir_), "200000");
}

TEST_F(RuntimeHooksTest, TheQuotaOfANewContainerIsForThePeriodThatKubeletAskedFor) {
  auto request = container();
  request.mutable_container_resources()->set_cpu_period(10'000);
  const auto resources = ask("PreCreateContainerHook", request).container_resources();
  EXPECT_EQ(resources.cpu_period(), 10'000);
  EXPECT_EQ(resources.cpu_quota(), 20'000);
}

TEST_F(RuntimeHooksTest, AnUpdateGetsTheValuesAndNoNewVariables) {
  auto request = container();
  request.mutable_container_meta()->set_id("c1");
  request.mutable_container_resources()->set_cpu_quota(5);
  start_->cpuset = "0-3";
  const auto answer = ask("PreUpdateContainerResourcesHook", request);
  EXPECT_EQ(answer.container_resources().cpu_quota(), 200'000);
  EXPECT_EQ(answer.container_resources().cpuset_cpus(), "0-3");
  EXPECT_FALSE(answer.container_envs().contains("GPUS"));
}

TEST_F(RuntimeHooksTest, EachHookThatIsCalledIsTimed) {
  std::vector<std::string> told;
  options_.observe = [&](const std::string& hook, std::string_view stage, bool ok, Duration) {
    told.push_back(fmt::format("{} {} {}", hook, stage, ok));
  };
  ask("PreCreateContainerHook", container());
  ask("PreUpdateContainerResourcesHook", container());
  ask("PreStartContainerHook", container());
  EXPECT_THAT(told, testing::ElementsAre("BatchResource PreCreateContainer true",
                                         "Talkative PreCreateContainer true",
                                         "BatchResource PreUpdateContainerResources true",
                                         "Talkative PreUpdateContainerResources true"));
}

TEST_F(RuntimeHooksTest, OtherStagesRepeatWhatWasAsked) {
  for (const char* method :
       {"PreStartContainerHook", "PostStartContainerHook", "PostStopContainerHook"})
    EXPECT_EQ(ask(method, container()).container_resources().cpu_shares(), 2) << method;
}

TEST_F(RuntimeHooksTest, APodsOwnValuesAreInItsCgroupBeforeItsContainersAreMade) {
  runtimehook::PodSandboxHookRequest request;
  request.mutable_pod_meta()->set_uid("u1");
  (*request.mutable_labels())["koordinator.sh/qosClass"] = "BE";
  (*request.mutable_annotations())["node.koordinator.sh/extended-resource-spec"] = kSpec;
  request.set_cgroup_parent("/" + podDir_);
  const auto reply = answerHook(runner(), "PreRunPodSandboxHook", request.SerializeAsString());
  ASSERT_TRUE(reply);
  runtimehook::PodSandboxHookResponse response;
  ASSERT_TRUE(response.ParseFromString(*reply));
  EXPECT_EQ(response.labels().at("koordinator.sh/qosClass"), "BE");
  EXPECT_EQ(response.cgroup_parent(), "/" + podDir_);
  EXPECT_EQ(files_.cgroupText(CgroupFile::CpuShares, podDir_), "1024");
  EXPECT_EQ(files_.cgroupText(CgroupFile::CpuCfsQuota, podDir_), "200000");
  EXPECT_EQ(files_.cgroupText(CgroupFile::MemoryLimit, podDir_), "4294967296");
  EXPECT_THAT(start_->started, testing::ElementsAre("u1"));
}

TEST_F(RuntimeHooksTest, TheHooksSeeTheNodeOnceAndNotForEveryPod) {
  for (int i = 0; i < 3; ++i) ask("PreCreateContainerHook", container());
  EXPECT_EQ(start_->prepared, 1);
}

TEST_F(RuntimeHooksTest, ThePodAsTheApiShowsItIsNewerThanItsSandbox) {
  auto pod = api::Pod();
  pod.metadata.uid = "u1";
  pod.metadata.annotations.try_emplace("node.koordinator.sh/extended-resource-spec",
                                       R"({"containers":{"main":{"requests":{
                                           "kubernetes.io/batch-cpu":"500"}}}})");
  states_.setPods(
      {viewOf(std::make_shared<const api::Pod>(std::move(pod)), CgroupDriver::Cgroupfs)});
  EXPECT_EQ(ask("PreCreateContainerHook", container()).container_resources().cpu_shares(), 512);
}

TEST_F(RuntimeHooksTest, AnErrorOfAHookReachesTheRuntimeUnderFailOnly) {
  start_->fails = true;
  EXPECT_EQ(ask("PreCreateContainerHook", container()).container_resources().cpu_shares(), 1024);
  runner_.reset();
  options_.failOnError = true;
  const auto reply =
      answerHook(runner(), "PreCreateContainerHook", container().SerializeAsString());
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().message, "no such device");
}

TEST_F(RuntimeHooksTest, WhatIsNoQuestionIsRefused) {
  EXPECT_EQ(answerHook(runner(), "PreCreateContainerHook", "\xff").error().code,
            net::GrpcCode::InvalidArgument);
  EXPECT_EQ(answerHook(runner(), "PreRunPodSandboxHook", "\xff").error().code,
            net::GrpcCode::InvalidArgument);
  EXPECT_EQ(answerHook(runner(), "SomethingElse", "").error().code, net::GrpcCode::Unimplemented);
  // An empty message: no pod, no cgroup, no error.
  EXPECT_TRUE(answerHook(runner(), "PreRunPodSandboxHook", ""));
  EXPECT_TRUE(answerHook(runner(), "PreCreateContainerHook", ""));
}

TEST(CgroupDir, ASlicesNameIsCompletedByTheSlicesItIsIn) {
  EXPECT_EQ(cgroupDirOf("/kubepods/besteffort/podu1"), "kubepods/besteffort/podu1");
  EXPECT_EQ(cgroupDirOf("kubepods-besteffort-pod7712_aa.slice"),
            "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod7712_aa.slice");
  EXPECT_EQ(cgroupDirOf("/kubepods.slice/kubepods-pod12.slice"),
            "kubepods.slice/kubepods-pod12.slice");
  EXPECT_EQ(cgroupDirOf("kubepods-pod12.slice"), "kubepods.slice/kubepods-pod12.slice");
  EXPECT_EQ(cgroupDirOf(""), "");
}

TEST(HookServerConfig, IsUpstreamsFileWithoutTheStagesThatAreSwitchedOff) {
  EXPECT_EQ(hookServerConfig({.disabledStages = {"PreCreateContainer"}}),
            "{\n\t\"remote-endpoint\": \"/var/run/koordlet/koordlet.sock\",\n"
            "\t\"failure-policy\": \"Ignore\",\n\t\"runtime-hooks\": [\n"
            "\t\t\"PreRunPodSandbox\",\n\t\t\"PreUpdateContainerResources\"\n\t]\n}\n");
}

// Checks gRPC's reflection, which grpcurl uses.
void checkReflection(net::IoLoop& loop, const std::string& socket) {
  namespace messages = grpc::reflection::v1;
  net::StreamClient client(loop, socket,
                           "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo");
  messages::ServerReflectionRequest request;
  request.set_list_services("*");
  client.say(request.SerializeAsString());
  request.set_file_containing_symbol("runtime.v1alpha1.RuntimeHookService.PreCreateContainerHook");
  client.say(request.SerializeAsString());
  messages::ServerReflectionResponse list, file;
  ASSERT_TRUE(list.ParseFromString(client.received(2)[0]));
  ASSERT_TRUE(file.ParseFromString(client.received(2)[1]));
  EXPECT_EQ(list.list_services_response().service(0).name(), "runtime.v1alpha1.RuntimeHookService");
  ASSERT_EQ(file.file_descriptor_response().file_descriptor_proto_size(), 1);
  EXPECT_THAT(file.file_descriptor_response().file_descriptor_proto(0),
              HasSubstr(".runtime.v1alpha1.ContainerResourceHookRequest"));
}

TEST_F(RuntimeHooksTest, TheServiceAnswersOnItsSocketAndSaysSoInTheProxysFolder) {
  const std::string folder = testing::TempDir() + "hookservice";
  LoopThread koordlet("koordlet");
  std::unique_ptr<HookService> service;
  koordlet.runSync([&] {
    service = std::make_unique<HookService>(
        koordlet.loop(), runner(),
        HookServiceOptions{
            folder + "/run/k.sock", "/seen/by/proxy.sock", folder + "/etc", "Fail", {}});
    service->start();
  });
  EXPECT_THAT(readFile(folder + "/etc/koordlet.json").value(),
              testing::AllOf(HasSubstr("/seen/by/proxy.sock"), HasSubstr("\"Fail\"")));
  net::IoLoop client;
  net::GrpcChannel channel(client, folder + "/run/k.sock");
  std::optional<net::GrpcReply> reply;
  const auto store = [](Future<net::GrpcReply> future, std::optional<net::GrpcReply>* into,
                        net::IoLoop* loop) -> Task<void> {
    auto answer = co_await future;
    *into = std::move(answer);
    loop->stop();
  };
  TaskGroup tasks;
  tasks.spawn(store(channel.call("/runtime.v1alpha1.RuntimeHookService/PreCreateContainerHook",
                                 container().SerializeAsString(), std::chrono::seconds(30)),
                    &reply, &client));
  client.run();
  runtimehook::ContainerResourceHookResponse response;
  ASSERT_TRUE(*reply && response.ParseFromString(**reply));
  EXPECT_EQ(response.container_resources().cpu_shares(), 1024);
  checkReflection(client, folder + "/run/k.sock");
  koordlet.runSync([&] { service.reset(); });
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace koord::koordlet
