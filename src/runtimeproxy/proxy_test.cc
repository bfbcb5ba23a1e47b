#include "runtime_hook.pb.h"
#include "runtimeproxy/proxy_testing.h"

namespace koord::runtimeproxy {
namespace {

using namespace std::chrono_literals;
using net::GrpcCode;
using runtimehook::ContainerResourceHookRequest;
using runtimehook::ContainerResourceHookResponse;
using runtimehook::PodSandboxHookRequest;
using runtimehook::PodSandboxHookResponse;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kAllHooks =
    R"("PreRunPodSandbox","PostStopPodSandbox","PreCreateContainer","PreStartContainer",
       "PostStartContainer","PreUpdateContainerResources","PostStopContainer")";

// Like koordlet: returns the request with changes.
net::GrpcReply echo(const std::string& method, const std::string& message,
                    const std::function<void(ContainerResourceHookResponse&)>& change) {
  if (method.find("Sandbox") != method.npos) return std::string();
  ContainerResourceHookRequest request;
  EXPECT_TRUE(request.ParseFromString(message));
  ContainerResourceHookResponse response;
  *response.mutable_container_resources() = request.container_resources();
  *response.mutable_container_envs() = request.container_envs();
  change(response);
  return response.SerializeAsString();
}

std::string bytes(std::size_t size) {
  std::string text(size, 0);
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31 + i / 251);
  return text;
}

TEST_F(ProxyTest, EverythingThatIsNotLookedIntoPassesByteForByte) {
  start();
  runtime_->answers["Anything"] = [](const auto& request) { return "re:" + request.message; };
  runtime_->answers["PullImage"] = runtime_->answers["Anything"];
  runtime_->answers["ListContainers"] = runtime_->answers["Anything"];
  for (const char* path : {"/runtime.v1.ImageService/PullImage", "/runtime.v1alpha2.X/Anything",
                           "/not.even/Anything"}) {
    const std::string message = bytes(100'001);
    const auto reply = ask(path, message);
    ASSERT_TRUE(reply) << path << reply.error().text();
    EXPECT_TRUE(*reply == "re:" + message) << path;
    EXPECT_EQ(runtime_->requests.back().method, path);
  }
}

TEST_F(ProxyTest, SixteenMebibytesPassEvenInCallsThatAreLookedInto) {
  start();
  const std::string large = bytes((16 << 20) - 4096);
  runtime_->answers["RunPodSandbox"] = [](const auto& request) { return request.message; };
  auto request = aPod();
  (*request.mutable_config()->mutable_annotations())["large"] = std::string(15 << 20, 'x');
  const auto reply = ask("RunPodSandbox", request);
  ASSERT_TRUE(reply) << reply.error().text();
  EXPECT_TRUE(*reply == request.SerializeAsString());
  runtime_->answers["Anything"] = [](const auto& asked) { return asked.message; };
  EXPECT_TRUE(ask("/x.Y/Anything", large).value() == large);
  EXPECT_EQ(ask(criPath("RunPodSandbox"), std::string(17 << 20, 'x')).error().code,
            GrpcCode::ResourceExhausted);
}

TEST_F(ProxyTest, ErrorsOfTheRuntimeKeepCodeAndWords) {
  start();
  for (const char* method : {"StopContainer", "ExecSync"}) {
    runtime_->answers[method] = [](const auto&) {
      return refused(GrpcCode::FailedPrecondition, "not now: 100% \"busy\"");
    };
    const auto reply = ask(criPath(method), "");
    EXPECT_EQ(reply.error().code, GrpcCode::FailedPrecondition) << method;
    EXPECT_EQ(reply.error().message, "not now: 100% \"busy\"") << method;
  }
}

TEST_F(ProxyTest, MetadataAndTheDeadlineReachTheRuntime) {
  start();
  ASSERT_TRUE(ask(criPath("Status"), "", 7s).error().code == GrpcCode::NotFound);
  EXPECT_EQ(runtime_->requests.back().timeout, Duration(7s));
  EXPECT_EQ(net::headerOf(runtime_->requests.back().headers, "user-agent"), "koordinator");
  runPod(aPod());
  const auto left = runtime_->requests.back().timeout;
  ASSERT_TRUE(left);
  EXPECT_LE(*left, Duration(30s));  // less the proxy's own time
  EXPECT_GT(*left, Duration(20s));
}

TEST_F(ProxyTest, HooksComeBeforeAndAfterAndSeeAllOfThePodAndContainer) {
  std::map<std::string, std::string> seen;
  const auto server =
      hookServer("koordlet", "Ignore", kAllHooks, [&](const auto& method, const auto& message) {
        seen[method] = message;
        return echo(method, message, [](auto& response) {
          response.mutable_container_resources()->set_cpu_shares(1024);
        });
      });
  start();
  const std::string sandbox = runPod(aPod());
  const std::string container = createContainer(aContainer(sandbox));
  cri::ContainerId id;
  id.set_container_id(container);
  ASSERT_TRUE(ask("StartContainer", id));
  ASSERT_TRUE(ask("StopContainer", id));
  cri::PodSandboxId pod;
  pod.set_pod_sandbox_id(sandbox);
  ASSERT_TRUE(ask("StopPodSandbox", pod));
  EXPECT_THAT(runtime_->log,
              ElementsAre("Version", "ListPodSandbox", "ListContainers", "PreRunPodSandboxHook",
                          "RunPodSandbox", "PreCreateContainerHook", "CreateContainer",
                          "PreStartContainerHook", "StartContainer", "PostStartContainerHook",
                          "StopContainer", "PostStopContainerHook", "StopPodSandbox",
                          "PostStopPodSandboxHook"));
  PodSandboxHookRequest asked;
  ASSERT_TRUE(asked.ParseFromString(seen["PreRunPodSandboxHook"]));
  EXPECT_EQ(asked.pod_meta().name(), "be-1");
  EXPECT_EQ(asked.pod_meta().attempt(), 2u);
  EXPECT_EQ(asked.runtime_handler(), "runc");
  EXPECT_EQ(asked.cgroup_parent(), "/kubepods/besteffort/podu1");
  ContainerResourceHookRequest started;
  ASSERT_TRUE(started.ParseFromString(seen["PreStartContainerHook"]));
  EXPECT_EQ(started.container_meta().id(), container);
  EXPECT_EQ(started.container_resources().cpu_shares(), 1024);
  EXPECT_EQ(started.pod_labels().at("koordinator.sh/qosClass"), "BE");
  EXPECT_EQ(started.pod_annotations().at("a"), "1");
  EXPECT_EQ(started.pod_cgroup_parent(), "/kubepods/besteffort/podu1");
  EXPECT_EQ(runtime_->last<cri::CreateContainerRequest>("CreateContainer")
                .config()
                .linux()
                .resources()
                .cpu_shares(),
            1024);
  EXPECT_EQ(proxy_->store().pods(), 0u);
  EXPECT_EQ(proxy_->store().containers(), 0u);
}

TEST_F(ProxyTest, WhatIsUnknownStaysInARequestThatIsChanged) {
  const auto server = hookServer("k", "Ignore", kAllHooks, [](const auto& method, const auto&) {
    PodSandboxHookResponse response;
    (*response.mutable_annotations())["added"] = "yes";
    EXPECT_EQ(method, "PreRunPodSandboxHook");
    return response.SerializeAsString();
  });
  start();
  // An unknown field 99 of the request, and of its configuration.
  auto request = aPod();
  std::string raw = request.SerializeAsString();
  cri::RunPodSandboxRequest inner;
  raw += std::string("\x9a\x06\x03new", 6);
  ASSERT_TRUE(ask(criPath("RunPodSandbox"), raw));
  EXPECT_THAT(runtime_->requests.back().message, HasSubstr(std::string("\x9a\x06\x03new", 6)));
  EXPECT_EQ(
      runtime_->last<cri::RunPodSandboxRequest>("RunPodSandbox").config().annotations().at("added"),
      "yes");
}

TEST_F(ProxyTest, SeveralServersAreAskedInTheOrderOfTheirFilesEachWithWhatTheOthersSaid) {
  std::vector<std::int64_t> seen;
  const auto ask = [&](std::int64_t shares) {
    return [&seen, shares](const auto& method, const auto& message) {
      return echo(method, message, [&](auto& response) {
        seen.push_back(response.container_resources().cpu_shares());
        response.mutable_container_resources()->set_cpu_shares(shares);
        (*response.mutable_container_envs())[std::to_string(shares)] = "x";
      });
    };
  };
  const auto second = hookServer("b", "Ignore", R"("PreCreateContainer")", ask(20));
  const auto first = hookServer("a", "Ignore", R"("PreCreateContainer")", ask(10));
  start();
  createContainer(aContainer(runPod(aPod())));
  EXPECT_THAT(seen, ElementsAre(2, 10));
  const auto sent = runtime_->last<cri::CreateContainerRequest>("CreateContainer");
  EXPECT_EQ(sent.config().linux().resources().cpu_shares(), 20);
  EXPECT_EQ(sent.config().envs_size(), 2);
}

TEST_F(ProxyTest, AnUpdateIsForwardedWithAllThatIsKnownAndOneThatFailsNeverHappened) {
  std::int64_t seen = 0;
  const auto server = hookServer("k", "Ignore", R"("PreUpdateContainerResources")",
                                 [&](const auto& method, const auto& message) {
                                   return echo(method, message, [&](auto& response) {
                                     seen = response.container_resources().cpu_quota();
                                     response.mutable_container_resources()->set_cpuset_cpus("2-3");
                                   });
                                 });
  start();
  cri::UpdateContainerResourcesRequest update;
  update.set_container_id(createContainer(aContainer(runPod(aPod()))));
  update.mutable_linux()->set_cpu_quota(50'000);
  runtime_->answers["UpdateContainerResources"] = [](const auto&) {
    return refused(GrpcCode::Internal, "no");
  };
  EXPECT_FALSE(ask("UpdateContainerResources", update));
  runtime_->answers.erase("UpdateContainerResources");
  update.mutable_linux()->set_cpu_quota(0);
  update.mutable_linux()->set_cpuset_cpus("0-7");
  ASSERT_TRUE(ask("UpdateContainerResources", update));
  EXPECT_EQ(seen, 0);
  const auto sent =
      runtime_->last<cri::UpdateContainerResourcesRequest>("UpdateContainerResources");
  EXPECT_EQ(sent.linux().cpuset_cpus(), "2-3");
  EXPECT_EQ(sent.linux().cpu_shares(), 2);
  EXPECT_EQ(sent.linux().oom_score_adj(), 1000);
}

TEST_F(ProxyTest, OfUpdatesAtTheSameTimeNoneUndoesAnother) {
  std::vector<std::pair<runtimehook::ContainerResourceHookRequest, std::optional<net::GrpcAnswer>>>
      asked;
  auto server = net::GrpcServer::start(
      loop_, at("slow.sock"), [&](net::GrpcRequest request, net::GrpcAnswer answer) {
        asked.emplace_back();
        EXPECT_TRUE(asked.back().first.ParseFromString(request.message));
        asked.back().second = std::move(answer);
        loop_.stop();
      });
  ASSERT_TRUE(server);
  announce("slow.json", at("slow.sock"), "Ignore", R"("PreUpdateContainerResources")");
  start();
  const std::string id = createContainer(aContainer(runPod(aPod())));
  const auto begin = [&](std::optional<net::GrpcReply>* into, auto change) {
    cri::UpdateContainerResourcesRequest update;
    update.set_container_id(id);
    change(*update.mutable_linux());
    return store(
        client_->call(criPath("UpdateContainerResources"), update.SerializeAsString(), 30s), into,
        &loop_);
  };
  const auto answer = [&](std::size_t i) {
    runtimehook::ContainerResourceHookResponse response;
    *response.mutable_container_resources() = asked[i].first.container_resources();
    response.mutable_container_resources()->set_cpu_shares(100 + i);
    (*asked[i].second)(response.SerializeAsString());
  };
  std::optional<net::GrpcReply> cpus, resize;
  TaskGroup tasks;
  tasks.spawn(begin(&cpus, [](auto& linux) { linux.set_cpuset_cpus("4-7"); }));
  while (asked.size() < 1) loop_.run();
  tasks.spawn(begin(&resize, [](auto& linux) { linux.set_cpu_quota(400'000); }));
  while (asked.size() < 2) loop_.run();
  answer(1);
  while (!resize) loop_.run();
  answer(0);
  while (!cpus) loop_.run();
  ASSERT_TRUE(*cpus && *resize);
  const auto sent =
      runtime_->last<cri::UpdateContainerResourcesRequest>("UpdateContainerResources");
  EXPECT_EQ(sent.linux().cpuset_cpus(), "4-7");
  EXPECT_EQ(sent.linux().cpu_quota(), 400'000) << "the resize that came meanwhile stays";
  const auto known = proxy_->store().container(id)->own.container_resources();
  EXPECT_EQ(known.cpuset_cpus(), "4-7");
  EXPECT_EQ(known.cpu_quota(), 400'000);

  // An update that fails reverts its own changes and no others.
  std::optional<net::GrpcReply> bad, good;
  tasks.spawn(begin(&bad, [](auto& linux) {
    linux.set_memory_limit_in_bytes(1 << 20);
    linux.set_cpu_quota(100'000);
  }));
  while (asked.size() < 3) loop_.run();
  tasks.spawn(begin(&good, [](auto& linux) { linux.set_cpu_quota(300'000); }));
  while (asked.size() < 4) loop_.run();
  answer(3);
  while (!good) loop_.run();
  runtime_->answers["UpdateContainerResources"] = [](const auto&) {
    return refused(GrpcCode::Internal, "no");
  };
  answer(2);
  while (!bad) loop_.run();
  EXPECT_FALSE(*bad);
  const auto left = proxy_->store().container(id)->own.container_resources();
  EXPECT_EQ(left.memory_limit_in_bytes(), 0);
  EXPECT_EQ(left.cpu_quota(), 300'000);
}

// Updates of one container; the test decides when hooks and runtime answer.
class UpdatesTest : public ProxyTest {
 protected:
  ~UpdatesTest() override { tasks_.emplace(); }

  void startWithHook(const std::string& policy) {
    hook_ =
        net::GrpcServer::start(loop_, at("slow.sock"),
                               [this](net::GrpcRequest request, net::GrpcAnswer answer) {
                                 asked_.emplace_back();
                                 EXPECT_TRUE(asked_.back().first.ParseFromString(request.message));
                                 asked_.back().second = std::move(answer);
                                 loop_.stop();
                               })
            .value();
    announce("slow.json", at("slow.sock"), policy, R"("PreUpdateContainerResources")");
    startWithContainer();
  }
  void startWithContainer() {
    start();
    id_ = createContainer(aContainer(runPod(aPod())));
  }
  using Reply = std::shared_ptr<std::optional<net::GrpcReply>>;
  Reply begin(const std::function<void(runtimehook::LinuxContainerResources&)>& change) {
    cri::UpdateContainerResourcesRequest update;
    update.set_container_id(id_);
    change(*update.mutable_linux());
    auto reply = std::make_shared<std::optional<net::GrpcReply>>();
    tasks_->spawn(
        store(client_->call(criPath("UpdateContainerResources"), update.SerializeAsString(), 30s),
              reply.get(), &loop_));
    return reply;
  }
  template <class Condition>
  void runUntil(Condition condition) {
    for (int i = 0; i < 5000 && !condition(); ++i) {
      loop_.runAfter(1ms, [this] { loop_.stop(); });
      loop_.run();
    }
    ASSERT_TRUE(condition());
  }
  void answerHook(std::size_t i, std::int64_t shares) {
    ContainerResourceHookResponse response;
    *response.mutable_container_resources() = asked_[i].first.container_resources();
    response.mutable_container_resources()->set_cpu_shares(shares);
    (*asked_[i].second)(response.SerializeAsString());
  }
  runtimehook::LinuxContainerResources known() const {
    return proxy_->store().container(id_)->own.container_resources();
  }

  std::unique_ptr<net::GrpcServer> hook_;
  std::vector<std::pair<ContainerResourceHookRequest, std::optional<net::GrpcAnswer>>> asked_;
  std::string id_;
  std::optional<TaskGroup> tasks_{std::in_place};
};

TEST_F(UpdatesTest, OneThatItsHooksRefuseReachesTheRuntimeThroughNoOther) {
  startWithHook("Fail");
  const Reply refusedOne = begin([](auto& linux) { linux.set_cpu_quota(900'000); });
  runUntil([&] { return asked_.size() == 1; });
  const Reply other = begin([](auto& linux) { linux.set_cpuset_cpus("4-7"); });
  runUntil([&] { return asked_.size() == 2; });
  EXPECT_EQ(asked_[1].first.container_resources().cpu_quota(), 0);
  answerHook(1, 100);
  runUntil([&] { return other->has_value(); });
  ASSERT_TRUE(**other);
  const auto sent =
      runtime_->last<cri::UpdateContainerResourcesRequest>("UpdateContainerResources");
  EXPECT_EQ(sent.linux().cpuset_cpus(), "4-7");
  EXPECT_EQ(sent.linux().cpu_quota(), 0) << "its hooks have not agreed to it";
  (*asked_[0].second)(refused(GrpcCode::PermissionDenied, "no"));
  runUntil([&] { return refusedOne->has_value(); });
  EXPECT_FALSE(**refusedOne);
  EXPECT_EQ(known().cpu_quota(), 0);
  EXPECT_EQ(known().cpuset_cpus(), "4-7");
}

TEST_F(UpdatesTest, OneThatTheRuntimeRefusesUndoesNoOtherThatSaidTheSame) {
  runtime_->hang.insert("UpdateContainerResources");
  announce("none.json", at("none.sock"), "Ignore", R"("PreUpdateContainerResources")");
  startWithContainer();
  const Reply first = begin([](auto& linux) { linux.set_cpu_quota(300'000); });
  runUntil([&] { return runtime_->hanging.size() == 1; });
  EXPECT_EQ(known().cpu_quota(), 300'000) << "it is on its way: who sends all says this, too";
  const Reply second = begin([](auto& linux) { linux.set_cpu_quota(300'000); });
  runUntil([&] { return runtime_->hanging.size() == 2; });
  runtime_->hanging[1](std::string());
  runUntil([&] { return second->has_value(); });
  ASSERT_TRUE(**second);
  runtime_->hanging[0](refused(GrpcCode::Internal, "no"));
  runUntil([&] { return first->has_value(); });
  EXPECT_FALSE(**first);
  EXPECT_EQ(known().cpu_quota(), 300'000);
}

TEST_F(UpdatesTest, OfTwoForTheSameFieldTheOneThatWasSentLastCounts) {
  runtime_->hang.insert("UpdateContainerResources");
  announce("none.json", at("none.sock"), "Ignore", R"("PreUpdateContainerResources")");
  startWithContainer();
  const Reply first = begin([](auto& linux) { linux.set_cpu_quota(100'000); });
  runUntil([&] { return runtime_->hanging.size() == 1; });
  const Reply second = begin([](auto& linux) { linux.set_cpu_quota(200'000); });
  runUntil([&] { return runtime_->hanging.size() == 2; });
  runtime_->hanging[1](std::string());
  runUntil([&] { return second->has_value(); });
  runtime_->hanging[0](std::string());
  runUntil([&] { return first->has_value(); });
  EXPECT_EQ(known().cpu_quota(), 200'000);
}

TEST_F(ProxyTest, AnUpdateWhoseCallerHasLeftNeverHappened) {
  std::vector<net::GrpcAnswer> asked;
  auto server =
      net::GrpcServer::start(loop_, at("slow.sock"), [&](net::GrpcRequest, net::GrpcAnswer answer) {
        asked.push_back(std::move(answer));
        loop_.stop();
      });
  ASSERT_TRUE(server);
  announce("slow.json", at("slow.sock"), "Ignore", R"("PreUpdateContainerResources")");
  start();
  cri::UpdateContainerResourcesRequest update;
  update.set_container_id(createContainer(aContainer(runPod(aPod()))));
  update.mutable_linux()->set_cpu_quota(400'000);
  std::optional<net::GrpcReply> reply;
  TaskGroup tasks;
  tasks.spawn(
      store(client_->call(criPath("UpdateContainerResources"), update.SerializeAsString(), 30s),
            &reply, &loop_));
  while (asked.empty()) loop_.run();
  const auto quota = [&] {
    return proxy_->store().container(update.container_id())->own.container_resources().cpu_quota();
  };
  EXPECT_EQ(quota(), 0) << "nobody hears of it before its hooks have agreed";
  client_ = std::make_unique<net::GrpcChannel>(loop_, at("proxy.sock"));
  asked[0](runtimehook::ContainerResourceHookResponse().SerializeAsString());
  for (int i = 0; i < 10 && quota() != 0; ++i) (void)ask(criPath("Anything"), "");
  EXPECT_EQ(quota(), 0);
  EXPECT_EQ(runtime_->count("UpdateContainerResources"), 0u);
}

TEST_F(ProxyTest, UnderFailTheRuntimeIsNotCalledAndUnderIgnoreItIs) {
  announce("k.json", at("nobody.sock"), "Fail", R"("PreRunPodSandbox")");
  start();
  auto reply = ask("RunPodSandbox", aPod());
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, GrpcCode::Unknown);
  EXPECT_THAT(reply.error().message, HasSubstr("hook server err: rpc error: code = Unavailable"));
  EXPECT_EQ(runtime_->count("RunPodSandbox"), 0u);
  auto exempt = aPod();
  (*exempt.mutable_config()->mutable_labels())["runtimeproxy.koordinator.sh/skip-hookserver"] =
      "true";
  EXPECT_TRUE(ask("RunPodSandbox", exempt));
  EXPECT_EQ(proxy_->store().pods(), 1u);
  auto annotated = aPod();
  (*annotated.mutable_config()
        ->mutable_annotations())["runtimeproxy.koordinator.sh/skip-hookserver"] = "true";
  EXPECT_TRUE(ask("RunPodSandbox", annotated));
  announce("k.json", at("nobody.sock"), "", R"("PreRunPodSandbox")");
  const auto turn = ask(criPath("Anything"), "");  // the proxy notices the change meanwhile
  EXPECT_TRUE(ask("RunPodSandbox", aPod()));
}

TEST_F(ProxyTest, AServerThatHangsOrAnswersGarbageCountsAsOneThatFails) {
  hookTimeout_ = 30ms;
  std::vector<net::GrpcAnswer> kept;
  auto hanging = net::GrpcServer::start(loop_, at("hang.sock"), [&](auto, net::GrpcAnswer answer) {
    kept.push_back(std::move(answer));
  });
  announce("hang.json", at("hang.sock"), "Ignore", R"("PreRunPodSandbox")");
  const auto garbage = hookServer("garbage", "Ignore", R"("PreRunPodSandbox","PreCreateContainer")",
                                  [](const auto&, const auto&) { return std::string("\xff\xff"); });
  const auto error = hookServer(
      "error", "Fail", R"("PreCreateContainer")",
      [](const auto&, const auto&) { return refused(GrpcCode::Internal, "plugin failed"); });
  start();
  const std::string sandbox = runPod(aPod());
  EXPECT_EQ(kept.size(), 1u);
  const auto reply = ask("CreateContainer", aContainer(sandbox));
  EXPECT_THAT(reply.error().message,
              testing::AllOf(HasSubstr("hook server err"), HasSubstr("plugin failed")));
  EXPECT_EQ(runtime_->count("CreateContainer"), 0u);
}

TEST_F(ProxyTest, AServerThatDiesInTheMiddleOfACallCountsAsOneThatFails) {
  std::unique_ptr<net::GrpcServer> server;
  std::vector<net::GrpcAnswer> kept;
  auto started =
      net::GrpcServer::start(loop_, at("k.sock"), [&](net::GrpcRequest, net::GrpcAnswer answer) {
        kept.push_back(std::move(answer));
        loop_.post([&] { server.reset(); });
      });
  server = *std::move(started);
  announce("k.json", at("k.sock"), "Ignore", R"("PreRunPodSandbox")");
  start();
  EXPECT_EQ(runPod(aPod()), "sandbox-1");
}

TEST_F(ProxyTest, ARequestThatMakesNoSenseIsTheRuntimesToJudge) {
  const auto server = hookServer("k", "Fail", kAllHooks, [](const auto&, const auto&) {
    ADD_FAILURE() << "no hook is due";
    return std::string();
  });
  start();
  for (const auto method : kCriMethods) {
    runtime_->answers[std::string(method)] = [](const auto& request) { return request.message; };
    EXPECT_EQ(ask(criPath(method), "\xff\xff garbage").value(), "\xff\xff garbage") << method;
  }
  cri::ContainerId unknown;
  unknown.set_container_id("nobody-knows");
  for (const char* method : {"StartContainer", "StopContainer", "UpdateContainerResources"})
    EXPECT_TRUE(ask(method, unknown)) << method;
  EXPECT_TRUE(ask(criPath("CreateContainer"), "\xff").has_value());
}

TEST_F(ProxyTest, AContainerOfAPodThatNobodyKnowsHasThePodFromItsOwnRequest) {
  ContainerResourceHookRequest asked;
  const auto server = hookServer("k", "Ignore", R"("PreCreateContainer")",
                                 [&](const auto& method, const auto& message) {
                                   EXPECT_TRUE(asked.ParseFromString(message));
                                   return echo(method, message, [](auto&) {});
                                 });
  start();
  createContainer(aContainer("made-by-someone-else"));
  EXPECT_EQ(asked.pod_meta().uid(), "u1");
  EXPECT_EQ(asked.pod_labels().at("koordinator.sh/qosClass"), "BE");
}

TEST_F(ProxyTest, AfterARestartTheRuntimeTellsWhatItHas) {
  runtime_->answers["ListPodSandbox"] = [](const auto&) {
    cri::ListPodSandboxResponse list;
    auto* item = list.add_items();
    item->set_id("s1");
    item->mutable_metadata()->set_name("old");
    item->mutable_metadata()->set_uid("u9");
    (*item->mutable_labels())["koordinator.sh/qosClass"] = "BE";
    return list.SerializeAsString();
  };
  runtime_->answers["ListContainers"] = [](const auto&) {
    cri::ListContainersResponse list;
    auto* item = list.add_containers();
    item->set_id("c1");
    item->set_pod_sandbox_id("s1");
    return list.SerializeAsString();
  };
  runtime_->answers["ContainerStatus"] = [](const auto& request) -> net::GrpcReply {
    cri::ContainerStatusRequest asked;
    EXPECT_TRUE(asked.ParseFromString(request.message));
    EXPECT_TRUE(asked.verbose());
    cri::ContainerStatusResponse response;
    response.mutable_status()->mutable_metadata()->set_name("main");
    (*response.mutable_info())["info"] =
        R"({"runtimeSpec":{"process":{"env":["A=1"]},"linux":{"cgroupsPath":"/kubepods/podu9/c1",
            "resources":{"cpu":{"shares":700,"period":100000}}}}})";
    return response.SerializeAsString();
  };
  ContainerResourceHookRequest asked;
  const auto server = hookServer("k", "Ignore", R"("PreUpdateContainerResources")",
                                 [&](const auto& method, const auto& message) {
                                   EXPECT_TRUE(asked.ParseFromString(message));
                                   return echo(method, message, [](auto& response) {
                                     response.mutable_container_resources()->set_cpu_shares(900);
                                   });
                                 });
  start();
  EXPECT_EQ(proxy_->store().pods(), 1u);
  EXPECT_EQ(proxy_->store().containers(), 1u);
  cri::UpdateContainerResourcesRequest update;
  update.set_container_id("c1");
  update.mutable_linux()->set_cpuset_cpus("0-7");
  ASSERT_TRUE(ask("UpdateContainerResources", update));
  EXPECT_EQ(asked.pod_meta().uid(), "u9");
  EXPECT_EQ(asked.container_meta().name(), "main");
  EXPECT_EQ(asked.container_resources().cpu_shares(), 700);
  EXPECT_EQ(asked.container_envs().at("A"), "1");
  EXPECT_EQ(asked.pod_cgroup_parent(), "/kubepods/podu9");
  const auto sent =
      runtime_->last<cri::UpdateContainerResourcesRequest>("UpdateContainerResources");
  EXPECT_EQ(sent.linux().cpu_shares(), 900);
  EXPECT_EQ(sent.linux().cpuset_cpus(), "0-7");
}

TEST_F(ProxyTest, ARuntimeThatIsNotThereYetIsWaitedFor) {
  runtime_->stop();
  loop_.runAfter(150ms, [this] { runtime_->start(); });
  start();
  EXPECT_EQ(runPod(aPod()), "sandbox-1");
}

TEST_F(ProxyTest, ARuntimeThatRestartsCostsTheCallsThatWereUnderWayAndNoMore) {
  start();
  runtime_->hang = {"CreateContainer", "Anything"};
  for (const char* method : {"CreateContainer", "Anything"}) {
    loop_.runAfter(20ms, [this] {
      runtime_->stop();
      runtime_->hanging.clear();
      runtime_->start();
    });
    const auto reply = ask(criPath(method), aContainer("s").SerializeAsString());
    EXPECT_EQ(reply.error().code, GrpcCode::Unavailable) << method;
    EXPECT_THAT(reply.error().message, HasSubstr("runtime.sock")) << method;
    EXPECT_EQ(runPod(aPod()).substr(0, 8), "sandbox-") << method;
  }
  runtime_->stop();
  EXPECT_EQ(ask(criPath("Anything"), "").error().code, GrpcCode::Unavailable);
}

TEST_F(ProxyTest, ACallerThatLeavesEndsTheCallAtTheRuntime) {
  start();
  runtime_->hang = {"CreateContainer", "Anything"};
  for (const char* method : {"CreateContainer", "Anything"})
    EXPECT_EQ(ask(criPath(method), "", 20ms).error().code, GrpcCode::DeadlineExceeded);
  client_.reset();
  client_ = std::make_unique<net::GrpcChannel>(loop_, at("proxy.sock"));
  EXPECT_EQ(runPod(aPod()), "sandbox-1");
}

TEST_F(ProxyTest, AThousandPodsAtOnceGetWhatIsTheirs) {
  const auto server =
      hookServer("k", "Fail", kAllHooks, [](const auto& method, const auto& message) {
        if (method != "PreRunPodSandboxHook") return echo(method, message, [](auto&) {});
        PodSandboxHookRequest request;
        EXPECT_TRUE(request.ParseFromString(message));
        PodSandboxHookResponse response;
        (*response.mutable_annotations())["for"] = request.pod_meta().uid();
        return net::GrpcReply(response.SerializeAsString());
      });
  runtime_->answers["RunPodSandbox"] = [](const auto& request) {
    cri::RunPodSandboxRequest asked;
    EXPECT_TRUE(asked.ParseFromString(request.message));
    EXPECT_EQ(asked.config().annotations().at("for"), asked.config().metadata().uid());
    cri::RunPodSandboxResponse made;
    made.set_pod_sandbox_id("s-" + asked.config().metadata().uid());
    return made.SerializeAsString();
  };
  start();
  std::vector<std::optional<net::GrpcReply>> replies(1000);
  TaskGroup tasks;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    auto request = aPod();
    request.mutable_config()->mutable_metadata()->set_uid(std::to_string(i));
    tasks.spawn(store(client_->call(criPath("RunPodSandbox"), request.SerializeAsString(), 60s),
                      &replies[i], &loop_));
  }
  while (tasks.size() > 0) loop_.run();
  for (std::size_t i = 0; i < replies.size(); ++i) {
    cri::RunPodSandboxResponse made;
    ASSERT_TRUE(*replies[i] && made.ParseFromString(**replies[i]));
    EXPECT_EQ(made.pod_sandbox_id(), "s-" + std::to_string(i));
  }
  EXPECT_EQ(proxy_->store().pods(), 1000u);
}

TEST_F(ProxyTest, AtTheEndCallsUnderWayAreWaitedForAndNewOnesRefused) {
  start();
  runtime_->hang = {"CreateContainer"};
  std::optional<net::GrpcReply> reply;
  TaskGroup tasks;
  tasks.spawn(store(client_->call(criPath("CreateContainer"), "", 30s), &reply, &loop_));
  while (runtime_->hanging.empty()) {
    loop_.post([this] { loop_.stop(); });
    loop_.run();
  }
  bool done = false;
  proxy_->shutdown([&] { done = true; });
  EXPECT_FALSE(std::filesystem::exists(at("proxy.sock")));
  runtime_->hanging.front()(std::string("made"));
  while (!reply) loop_.run();
  EXPECT_EQ(reply->value(), "made");
  while (!done) {
    loop_.post([this] { loop_.stop(); });
    loop_.run();
  }
  net::GrpcChannel late(loop_, at("proxy.sock"));
  tasks.spawn(store(late.call(criPath("Status"), "", 1s), &reply, &loop_));
  reply.reset();
  while (!reply) loop_.run();
  EXPECT_EQ(reply->error().code, GrpcCode::Unavailable);
}

TEST_F(ProxyTest, WhatHappensIsCounted) {
  const auto server = hookServer("k", "Ignore", R"("PreRunPodSandbox")",
                                 [](const auto&, const auto&) { return std::string(); });
  start();
  runPod(aPod());
  ask(criPath("Anything"), "").value();
  const std::string text = proxy_->metricsText();
  for (const char* line :
       {"koord_runtime_proxy_calls_total{method=\"RunPodSandbox\",result=\"success\"} 1",
        "koord_runtime_proxy_calls_total{method=\"other\",result=\"success\"} 1",
        "koord_runtime_proxy_hook_calls_total{hook=\"PreRunPodSandbox\",result=\"success\"} 1",
        "koord_runtime_proxy_known_pods 1"})
    EXPECT_THAT(text, HasSubstr(line));
}

}  // namespace
}  // namespace koord::runtimeproxy
