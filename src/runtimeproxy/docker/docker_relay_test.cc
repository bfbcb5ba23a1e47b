#include "runtimeproxy/docker/docker_relay.h"

#include "runtime_hook.pb.h"
#include "runtimeproxy/proxy_testing.h"

namespace koord::runtimeproxy {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A minimal dockerd, a proxy in front of it and a client.
class DockerRelayTest : public testing::Test {
 protected:
  DockerRelayTest() : folder_(testing::TempDir() + "docker") {
    std::filesystem::remove_all(folder_);
    EXPECT_TRUE(makeDirs(folder_ + "/hooks"));
    listen();
    answers["/info"] = R"({"CgroupDriver":"cgroupfs","ServerVersion":"20.10"})";
    answers["/containers/json?all=1"] = "[]";
  }
  ~DockerRelayTest() override {
    client_.reset();
    for (auto& peer : peers_) peer->end->close();
    proxy_.reset();
    watch_.reset();
    hooks_.reset();
    std::filesystem::remove_all(folder_);
  }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }

  void listen() {
    listener_ = net::listenUnix(at("docker.sock")).value();
    watch_ = loop_.watch(listener_.get(), [this](net::IoLoop::Ready) {
      while (auto socket = net::acceptUnix(listener_)) serve(*std::move(socket));
    });
    watch_->want({.read = true});
  }
  struct Peer {
    std::shared_ptr<SocketEnd> end;
    HttpReader reader{HttpReader::Role::Request};
    HttpHead head;
    std::string content;
    bool passThrough = false;
  };
  void serve(Fd socket) {
    auto* const peer = peers_.emplace_back(std::make_unique<Peer>()).get();
    peer->end =
        SocketEnd::start(loop_, std::move(socket),
                         {.onBytes = [this, peer](std::string_view bytes) { take(*peer, bytes); },
                          .onEnd = [this] { ++left; },
                          .onLost = [] {},
                          .onEmpty = nullptr});
  }
  void take(Peer& peer, std::string_view bytes) {
    if (peer.passThrough) return peer.end->write("echo:" + std::string(bytes));
    peer.reader.add(bytes);
    for (;;) {
      const auto piece = peer.reader.next();
      ASSERT_TRUE(piece) << piece.error().message;
      if (!*piece) return;
      if ((*piece)->kind == HttpReader::Piece::Kind::Head) peer.head = (*piece)->head;
      peer.content += (*piece)->content;
      if ((*piece)->kind != HttpReader::Piece::Kind::End) continue;
      requests.push_back(peer.head.method + " " + peer.head.target);
      bodies.push_back(std::exchange(peer.content, {}));
      answer(peer);
    }
  }
  void answer(Peer& peer) {
    const std::string& target = peer.head.target;
    if (hang) return;
    if (!peer.head.header("upgrade").empty()) {
      peer.passThrough = true;
      return peer.end->write("HTTP/1.1 101 UPGRADED\r\nUpgrade: tcp\r\n\r\nwelcome:");
    }
    if (const auto found = answers.find(target); found != answers.end())
      return peer.end->write(fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}",
                                         found->second.size(), found->second));
    if (target.find("/create?") != target.npos) {
      const std::string body = fmt::format(R"({{"Id":"id{}"}})", ++made_);
      return peer.end->write(fmt::format(
          "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n",
          body.size(), body));
    }
    peer.end->write(fmt::format("HTTP/1.1 {}\r\n\r\n", status));
  }

  void start() {
    proxy_ = std::make_unique<Proxy>(
        loop_,
        ProxyOptions{
            at("proxy.sock"), at("docker.sock"), at("hooks"), {}, 5s, 200ms, Language::Docker});
    proxy_->start([this] { loop_.stop(); },
                  [this](const Error& error) {
                    ADD_FAILURE() << error.message;
                    loop_.stop();
                  });
    loop_.run();
    requests.clear();
    bodies.clear();
    connect();
  }
  void connect() {
    received_.clear();
    closed_ = false;
    if (client_) client_->close();
    client_ = SocketEnd::start(loop_, net::connectUnix(at("proxy.sock")).value(),
                               {.onBytes = [this](std::string_view bytes) { received_ += bytes; },
                                .onEnd = [this] { closed_ = true; },
                                .onLost = [this] { closed_ = true; },
                                .onEmpty = nullptr});
  }
  template <class Condition>
  void runUntil(Condition condition) {
    for (int i = 0; i < 5000 && !condition(); ++i) {
      loop_.runAfter(1ms, [this] { loop_.stop(); });
      loop_.run();
    }
    ASSERT_TRUE(condition()) << received_;
  }
  // Returns the answer, after its end.
  std::string ask(const std::string& method, const std::string& target,
                  const std::string& body = "") {
    received_.clear();
    client_->write(fmt::format("{} {} HTTP/1.1\r\nHost: docker\r\nContent-Length: {}\r\n\r\n{}",
                               method, target, body.size(), body));
    runUntil([&] { return whole(method); });
    return received_;
  }
  bool whole(const std::string& method) const {
    HttpReader reader(HttpReader::Role::Response);
    reader.answers(method);
    reader.add(received_);
    for (;;) {
      const auto piece = reader.next();
      if (!piece || !*piece) return false;
      if ((*piece)->kind == HttpReader::Piece::Kind::End) return true;
    }
  }
  // A hook server for all stages, which calls `hook`.
  void hookServer(const std::string& policy) {
    hooks_.reset();
    hooks_ = net::GrpcServer::start(
                 loop_, at("hook.sock"),
                 [this](net::GrpcRequest request, net::GrpcAnswer answer) {
                   asked.push_back(request.method.substr(request.method.rfind('/') + 1));
                   auto reply = hook(asked.back(), request.message);
                   loop_.runAfter(hookTakes,
                                  [answer = std::move(answer), reply = std::move(reply)]() mutable {
                                    answer(std::move(reply));
                                  });
                 })
                 .value();
    ASSERT_TRUE(writeFileAtomic(
        at("hooks/k.json"),
        fmt::format(
            R"({{"remote-endpoint":"{}","failure-policy":"{}","runtime-hooks":["PreRunPodSandbox","PostStopPodSandbox",
             "PreCreateContainer","PreStartContainer","PostStartContainer","PreUpdateContainerResources",
             "PostStopContainer"]}})",
            at("hook.sock"), policy)));
  }
  std::string makePod() {
    return ask(
        "POST", "/v1.39/containers/create?name=k8s_POD_be_default_u1_0",
        R"({"Image":"pause","Labels":{"io.kubernetes.docker.type":"podsandbox","annotation.a":"1","l":"m"},
                   "HostConfig":{"CgroupParent":"/kubepods/podu1","CpuShares":2}})");
  }
  std::string makeContainer() {
    return ask("POST", "/v1.39/containers/create?name=k8s_main_be_default_u1_0",
               R"({"Image":"busybox","Env":["B=1"],"New":{"x":[1,2.5]},
                   "Labels":{"io.kubernetes.docker.type":"container","io.kubernetes.sandbox.id":"id1"},
                   "HostConfig":{"CgroupParent":"/kubepods/podu1","CpuShares":2,"CpusetCpus":"0-3"}})");
  }

  net::IoLoop loop_;
  std::string folder_;
  Fd listener_;
  std::unique_ptr<net::IoLoop::Watch> watch_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::unique_ptr<net::GrpcServer> hooks_;
  std::unique_ptr<Proxy> proxy_;
  std::shared_ptr<SocketEnd> client_;
  std::string received_;
  bool closed_ = false;
  int made_ = 0;

  std::map<std::string, std::string> answers;  // by target
  std::string status = "204 No Content";       // for all other targets
  std::vector<std::string> requests, bodies, asked;
  std::function<net::GrpcReply(const std::string& method, const std::string& message)> hook;
  Duration hookTakes{};
  bool hang = false;
  int left = 0;
};

net::GrpcReply withShares(const std::string& method, const std::string& message,
                          std::int64_t shares) {
  if (method.find("Sandbox") != method.npos) {
    runtimehook::PodSandboxHookRequest request;
    EXPECT_TRUE(request.ParseFromString(message));
    EXPECT_EQ(request.pod_meta().uid(), "u1") << method;
    EXPECT_EQ(request.annotations().at("a"), "1");
    EXPECT_EQ(request.labels().at("l"), "m");
    runtimehook::PodSandboxHookResponse response;
    *response.mutable_resources() = request.resources();
    response.mutable_resources()->set_cpu_shares(shares);
    return response.SerializeAsString();
  }
  runtimehook::ContainerResourceHookRequest request;
  EXPECT_TRUE(request.ParseFromString(message));
  EXPECT_EQ(request.pod_meta().name(), "be") << method;
  EXPECT_EQ(request.pod_annotations().at("a"), "1");
  EXPECT_EQ(request.pod_cgroup_parent(), "/kubepods/podu1");
  EXPECT_EQ(request.container_meta().name(), "main");
  runtimehook::ContainerResourceHookResponse response;
  *response.mutable_container_resources() = request.container_resources();
  response.mutable_container_resources()->set_cpu_shares(shares);
  *response.mutable_container_envs() = request.container_envs();
  (*response.mutable_container_envs())["A"] = "2";
  return response.SerializeAsString();
}

TEST_F(DockerRelayTest, RequestsAndAnswersPassAsTheyAreOneAfterTheOther) {
  start();
  answers["/v1.39/images/json"] = std::string(3 << 20, 'x');
  EXPECT_THAT(ask("GET", "/v1.39/images/json"), HasSubstr("Content-Length: 3145728\r\n\r\nxxx"));
  const std::string large(2 << 20, 'y');
  ask("POST", "/v1.39/images/load", large);
  EXPECT_TRUE(bodies.back() == large);
  ask("POST", "/v1.39/containers/create?name=stranger", R"({"any":"thing", "HostConfig":null})");
  EXPECT_EQ(bodies.back(), R"({"any":"thing", "HostConfig":null})");
  // Two pipelined requests: each gets its answer, in order.
  answers["/a"] = "1";
  answers["/b"] = "2";
  received_.clear();
  client_->write("GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n");
  runUntil([&] { return received_.ends_with("\r\n\r\n2"); });
  EXPECT_THAT(received_, HasSubstr("\r\n\r\n1HTTP/1.1 200 OK"));
  EXPECT_FALSE(closed_);
}

TEST_F(DockerRelayTest, AnUpgradedConnectionCarriesWhatEitherSideSays) {
  start();
  client_->write("POST /exec/x/start HTTP/1.1\r\nUpgrade: tcp\r\nContent-Length: 2\r\n\r\n{}early");
  runUntil([&] { return received_.ends_with("welcome:echo:early"); });
  client_->write("GET / HTTP/1.1\r\n\r\n");
  runUntil([&] { return received_.ends_with("echo:GET / HTTP/1.1\r\n\r\n"); });
  const int before = left;
  client_->endWriting();
  runUntil([&] { return left == before + 1; });
  peers_.back()->end->write("last");
  peers_.back()->end->endWriting();
  runUntil([&] { return closed_; });
  EXPECT_TRUE(received_.ends_with("last"));
}

TEST_F(DockerRelayTest, HooksChangePodsAndContainersAndUpdates) {
  std::int64_t shares = 512;
  hook = [&](const auto& method, const auto& message) {
    return withShares(method, message, shares);
  };
  hookServer("Fail");
  start();
  EXPECT_THAT(makePod(), HasSubstr(R"({"Id":"id1"})"));
  EXPECT_THAT(bodies.back(), HasSubstr(R"("CpuShares":512)"));
  EXPECT_THAT(makeContainer(), HasSubstr(R"({"Id":"id2"})"));
  EXPECT_THAT(
      bodies.back(),
      testing::AllOf(HasSubstr(R"("CpuShares":512)"), HasSubstr(R"("Env":["B=1","A=2"])"),
                     HasSubstr(R"("New":{"x":[1,2.5E0]})"), HasSubstr(R"("CpusetCpus":"0-3")")));
  EXPECT_THAT(ask("POST", "/v1.39/containers/id2/start"), HasSubstr("204"));
  shares = 600;
  ask("POST", "/v1.39/containers/id2/update", R"({"CpuQuota":-1})");
  EXPECT_THAT(bodies.back(),
              testing::AllOf(HasSubstr(R"("CpuQuota":-1)"), HasSubstr(R"("CpuShares":600)"),
                             HasSubstr(R"("CpusetCpus":"0-3")")));
  ask("POST", "/v1.39/containers/id2/stop?t=1");
  ask("POST", "/v1.39/containers/id1/stop");
  EXPECT_THAT(asked,
              ElementsAre("PreRunPodSandboxHook", "PreCreateContainerHook", "PreStartContainerHook",
                          "PostStartContainerHook", "PreUpdateContainerResourcesHook",
                          "PostStopContainerHook", "PostStopPodSandboxHook"));
  EXPECT_EQ(proxy_->store().pods() + proxy_->store().containers(), 0u);
}

TEST_F(DockerRelayTest, WhatDockerRefusedNeverHappened) {
  hook = [](const auto& method, const auto& message) { return withShares(method, message, 512); };
  hookServer("Ignore");
  start();
  makePod();
  makeContainer();
  status = "500 Internal Server Error\r\nContent-Length: 0";
  ask("POST", "/v1.39/containers/id2/update", R"({"Memory":1000000})");
  ask("POST", "/v1.39/containers/id2/stop");
  EXPECT_EQ(proxy_->store().container("id2")->own.container_resources().memory_limit_in_bytes(), 0);
  status = "404 Not Found\r\nContent-Length: 0";
  ask("DELETE", "/v1.39/containers/id2");
  EXPECT_EQ(proxy_->store().containers(), 0u);
  EXPECT_THAT(asked, Not(testing::Contains("PostStopContainerHook")));
}

TEST_F(DockerRelayTest, AnUpdateIsKnownToOthersOnceItsHooksHaveAgreed) {
  hook = [](const auto& method, const auto& message) { return withShares(method, message, 512); };
  hookServer("Fail");
  start();
  makePod();
  makeContainer();
  const auto memory = [&] {
    return proxy_->store().container("id2")->own.container_resources().memory_limit_in_bytes();
  };
  hookTakes = 50ms;
  hang = true;
  const std::size_t before = requests.size();
  const std::string body = R"({"Memory":1000000})";
  client_->write(
      fmt::format("POST /v1.39/containers/id2/update HTTP/1.1\r\nHost: docker\r\n"
                  "Content-Length: {}\r\n\r\n{}",
                  body.size(), body));
  runUntil([&] { return asked.back() == "PreUpdateContainerResourcesHook"; });
  EXPECT_EQ(memory(), 0);
  runUntil([&] { return requests.size() > before; });
  EXPECT_EQ(memory(), 1'000'000) << "it is on its way";
  client_->close();
  client_ = nullptr;
  runUntil([&] { return memory() == 0; });
}

TEST_F(DockerRelayTest, AFailingHookServerFailsTheRequestOnlyWhereItsPolicySaysSo) {
  hook = [](const auto&, const auto&) { return refused(net::GrpcCode::Internal, "broken"); };
  hookServer("Fail");
  start();
  EXPECT_THAT(makePod(), testing::AllOf(HasSubstr("500 Internal"), HasSubstr("hook server err"),
                                        HasSubstr("broken")));
  EXPECT_THAT(requests, ElementsAre());
  runUntil([&] { return closed_; });
  connect();
  EXPECT_THAT(ask("POST", "/containers/create?name=k8s_POD_be_default_u1_0",
                  R"({"Labels":{"io.kubernetes.docker.type":"podsandbox",
                                "runtimeproxy.koordinator.sh/skip-hookserver":"true"}})"),
              HasSubstr("201"));
  hookServer("Ignore");
  answers["/x"] = "";
  ask("GET", "/x");  // the proxy notices the change meanwhile
  EXPECT_THAT(makePod(), HasSubstr("201"));
}

TEST_F(DockerRelayTest, AfterARestartDockerTellsWhatItHas) {
  answers["/containers/json?all=1"] =
      R"([{"Id":"c1","Labels":{"io.kubernetes.docker.type":"container"}},
      {"Id":"s1","Labels":{"io.kubernetes.docker.type":"podsandbox"}},{"Id":"other","Labels":{}},{"Id":"gone"}])";
  answers["/containers/s1/json"] = R"({"Id":"s1","Name":"/k8s_POD_be_default_u1_0","HostConfig":{
      "CgroupParent":"/kubepods/podu1"},"Config":{"Labels":{"io.kubernetes.docker.type":"podsandbox","annotation.a":"1",
      "l":"m"}}})";
  answers["/containers/c1/json"] =
      R"({"Id":"c1","Name":"/k8s_main_be_default_u1_0","HostConfig":{"CpuShares":2,
      "CpuQuota":100000},"Config":{"Env":["X=1"],"Labels":{"io.kubernetes.sandbox.id":"s1"}}})";
  answers["/containers/other/json"] =
      R"({"Id":"other","Name":"/web","HostConfig":{},"Config":{"Labels":{}}})";
  status = "404 Not Found\r\nContent-Length: 0";
  hook = [](const auto& method, const auto& message) { return withShares(method, message, 700); };
  hookServer("Ignore");
  start();
  EXPECT_EQ(proxy_->store().pods(), 1u);
  EXPECT_EQ(proxy_->store().containers(), 1u);
  ask("POST", "/containers/c1/update", R"({"CpuPeriod":50000})");
  EXPECT_THAT(bodies.back(),
              testing::AllOf(HasSubstr(R"("CpuShares":700)"), HasSubstr(R"("CpuQuota":100000)"),
                             HasSubstr(R"("CpuPeriod":50000)")));
}

TEST_F(DockerRelayTest, ADockerThatIsAwayCostsTheRequestsMeanwhileAndNoMore) {
  start();
  hang = true;
  client_->write("GET /wait HTTP/1.1\r\n\r\n");
  runUntil([&] { return requests.size() == 1; });
  for (auto& peer : peers_) peer->end->close();
  runUntil([&] { return closed_; });
  EXPECT_THAT(received_, HasSubstr("502 Bad Gateway"));
  watch_.reset();
  listener_ = Fd();
  std::filesystem::remove(at("docker.sock"));
  connect();
  client_->write("GET /a HTTP/1.1\r\n\r\n");
  runUntil([&] { return closed_; });
  EXPECT_THAT(received_, HasSubstr("docker.sock"));
  listen();
  hang = false;
  answers["/a"] = "back";
  connect();
  EXPECT_THAT(ask("GET", "/a"), HasSubstr("back"));
}

TEST_F(DockerRelayTest, ADockerThatClosesAnIdleConnectionWhileHooksAreAskedIsAskedOnAnother) {
  hook = [this](const auto& method, const auto& message) {
    if (method == "PreCreateContainerHook")
      for (auto& peer : peers_) peer->end->close();
    return withShares(method, message, 512);
  };
  hookTakes = 20ms;
  hookServer("Fail");
  start();
  EXPECT_THAT(makePod(), HasSubstr("201"));
  EXPECT_THAT(makeContainer(), HasSubstr("201 Created"));
  EXPECT_THAT(bodies.back(), HasSubstr(R"("CpuShares":512)"));
}

TEST_F(DockerRelayTest, AClientThatLeavesEndsItsRequestAtDocker) {
  start();
  hang = true;
  for (const char* target :
       {"GET /events", "POST /containers/create?name=k8s_POD_be_default_u1_0"}) {
    const int before = left;
    const auto sent = requests.size();
    client_->write(std::string(target) + " HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}");
    runUntil([&] { return requests.size() == sent + 1; });
    client_->close();
    runUntil([&] { return left == before + 1; });
    connect();
  }
}

TEST_F(DockerRelayTest, GarbageClosesThatConnectionAlone) {
  start();
  client_->write("\x16\x03\x01 this is TLS\r\n\r\n");
  runUntil([&] { return closed_; });
  EXPECT_THAT(received_, HasSubstr("400 Bad Request"));
  connect();
  answers["/a"] = "fine";
  EXPECT_THAT(ask("GET", "/a"), HasSubstr("fine"));
  EXPECT_THAT(ask("POST", "/containers/create?name=k8s_POD_be_default_u1_0", "{broken"),
              HasSubstr("201"));
  EXPECT_EQ(bodies.back(), "{broken");
}

}  // namespace
}  // namespace koord::runtimeproxy
