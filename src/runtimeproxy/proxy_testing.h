#pragma once

// For tests: minimal runtime and hook servers behind sockets in a temporary folder, a proxy between
// them and a client, all on one loop.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "base/file.h"
#include "net/rpc/grpc_server.h"
#include "runtime_cri.pb.h"
#include "runtimeproxy/proxy.h"

namespace koord::runtimeproxy {

inline net::GrpcReply refused(net::GrpcCode code, std::string message) {
  return std::unexpected(net::GrpcStatus{code, std::move(message)});
}

inline std::string criPath(std::string_view method) {
  return std::string(kRuntimeService) + std::string(method);
}

// A runtime that assigns ids and records its requests.
class FakeRuntime {
 public:
  FakeRuntime(net::IoLoop& loop, std::string socket) : loop_(loop), socket_(std::move(socket)) {
    start();
  }
  void start() {
    auto started = net::GrpcServer::start(loop_, socket_,
                                          [this](net::GrpcRequest request, net::GrpcAnswer answer) {
                                            serve(std::move(request), std::move(answer));
                                          });
    ASSERT_TRUE(started) << started.error().message;
    server_ = *std::move(started);
  }
  void stop() { server_.reset(); }

  // By the last part of the method; other methods return an empty message.
  std::map<std::string, std::function<net::GrpcReply(const net::GrpcRequest&)>> answers;
  std::vector<net::GrpcRequest> requests;
  std::vector<std::string> log;  // methods; tests of the order share it with hook servers
  std::vector<net::GrpcAnswer> hanging;
  std::set<std::string> hang;  // methods that get no answer

  template <class Message>
  Message last(const std::string& method) const {
    Message message;
    for (const auto& request : requests)
      if (request.method == criPath(method)) {
        EXPECT_TRUE(message.ParseFromString(request.message));
      }
    return message;
  }
  std::size_t count(const std::string& method) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        requests, [&](const auto& request) { return request.method == criPath(method); }));
  }

 private:
  void serve(net::GrpcRequest request, net::GrpcAnswer answer) {
    const std::string name = request.method.substr(request.method.rfind('/') + 1);
    log.push_back(name);
    requests.push_back(request);
    if (hang.contains(name)) return hanging.push_back(std::move(answer));
    if (const auto found = answers.find(name); found != answers.end())
      return answer(found->second(request));
    answer(ordinary(name));
  }
  net::GrpcReply ordinary(const std::string& name) {
    if (name == "RunPodSandbox") {
      cri::RunPodSandboxResponse made;
      made.set_pod_sandbox_id("sandbox-" + std::to_string(++made_));
      return made.SerializeAsString();
    }
    if (name == "CreateContainer") {
      cri::CreateContainerResponse made;
      made.set_container_id("container-" + std::to_string(++made_));
      return made.SerializeAsString();
    }
    if (name.ends_with("Status")) return refused(net::GrpcCode::NotFound, "not found");
    return std::string();
  }

  net::IoLoop& loop_;
  std::string socket_;
  std::unique_ptr<net::GrpcServer> server_;
  int made_ = 0;
};

class ProxyTest : public testing::Test {
 protected:
  ProxyTest() : folder_(testing::TempDir() + "proxy") {
    std::filesystem::remove_all(folder_);
    EXPECT_TRUE(makeDirs(folder_ + "/hooks"));
    runtime_ = std::make_unique<FakeRuntime>(loop_, at("runtime.sock"));
  }
  ~ProxyTest() override {
    client_.reset();
    proxy_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::string at(const std::string& name) const { return folder_ + "/" + name; }

  void start() {
    proxy_ = std::make_unique<Proxy>(loop_, ProxyOptions{at("proxy.sock"),
                                                         at("runtime.sock"),
                                                         at("hooks"),
                                                         {},
                                                         hookTimeout_,
                                                         std::chrono::milliseconds(200)});
    proxy_->start([this] { loop_.stop(); },
                  [this](const Error& error) {
                    ADD_FAILURE() << error.message;
                    loop_.stop();
                  });
    loop_.run();
    client_ = std::make_unique<net::GrpcChannel>(loop_, at("proxy.sock"));
  }

  void announce(const std::string& name, const std::string& endpoint, const std::string& policy,
                const std::string& hooks) {
    ASSERT_TRUE(writeFileAtomic(at("hooks/" + name),
                                fmt::format(R"({{"remote-endpoint":"{}","failure-policy":"{}",
                                                "runtime-hooks":[{}]}})",
                                            endpoint, policy, hooks)));
  }
  // A hook server with a configuration file and a socket of that name.
  using Hook = std::function<net::GrpcReply(const std::string& method, const std::string& message)>;
  std::unique_ptr<net::GrpcServer> hookServer(const std::string& name, const std::string& policy,
                                              const std::string& hooks, Hook hook) {
    auto server = net::GrpcServer::start(
        loop_, at(name + ".sock"),
        [this, hook = std::move(hook)](net::GrpcRequest request, net::GrpcAnswer answer) {
          const std::string method = request.method.substr(request.method.rfind('/') + 1);
          runtime_->log.push_back(method);
          answer(hook(method, request.message));
        });
    EXPECT_TRUE(server) << server.error().message;
    announce(name + ".json", at(name + ".sock"), policy, hooks);
    return *std::move(server);
  }

  static Task<void> store(Future<net::GrpcReply> future, std::optional<net::GrpcReply>* into,
                          net::IoLoop* loop) {
    auto reply = co_await future;
    *into = std::move(reply);
    loop->stop();
  }
  net::GrpcReply ask(const std::string& path, const std::string& message,
                     Duration timeout = std::chrono::seconds(30)) {
    std::optional<net::GrpcReply> reply;
    TaskGroup tasks;
    tasks.spawn(store(client_->call(path, message, timeout), &reply, &loop_));
    while (!reply) loop_.run();
    return *std::move(reply);
  }
  net::GrpcReply ask(const std::string& method, const google::protobuf::MessageLite& message) {
    return ask(criPath(method), message.SerializeAsString());
  }

  std::string runPod(const cri::RunPodSandboxRequest& request) {
    const auto reply = ask("RunPodSandbox", request);
    cri::RunPodSandboxResponse made;
    EXPECT_TRUE(reply && made.ParseFromString(*reply)) << (reply ? "" : reply.error().text());
    return made.pod_sandbox_id();
  }
  std::string createContainer(const cri::CreateContainerRequest& request) {
    const auto reply = ask("CreateContainer", request);
    cri::CreateContainerResponse made;
    EXPECT_TRUE(reply && made.ParseFromString(*reply)) << (reply ? "" : reply.error().text());
    return made.container_id();
  }

  net::IoLoop loop_;
  std::string folder_;
  Duration hookTimeout_ = std::chrono::seconds(5);
  std::unique_ptr<FakeRuntime> runtime_;
  std::unique_ptr<Proxy> proxy_;
  std::unique_ptr<net::GrpcChannel> client_;
};

inline cri::RunPodSandboxRequest aPod() {
  cri::RunPodSandboxRequest request;
  auto& config = *request.mutable_config();
  config.mutable_metadata()->set_name("be-1");
  config.mutable_metadata()->set_uid("u1");
  config.mutable_metadata()->set_namespace_("default");
  config.mutable_metadata()->set_attempt(2);
  (*config.mutable_labels())["koordinator.sh/qosClass"] = "BE";
  (*config.mutable_annotations())["a"] = "1";
  config.mutable_linux()->set_cgroup_parent("/kubepods/besteffort/podu1");
  request.set_runtime_handler("runc");
  return request;
}

inline cri::CreateContainerRequest aContainer(const std::string& sandbox) {
  cri::CreateContainerRequest request;
  request.set_pod_sandbox_id(sandbox);
  request.mutable_config()->mutable_metadata()->set_name("main");
  auto& resources = *request.mutable_config()->mutable_linux()->mutable_resources();
  resources.set_cpu_period(100'000);
  resources.set_cpu_shares(2);
  resources.set_oom_score_adj(1000);
  *request.mutable_sandbox_config() = aPod().config();
  return request;
}

}  // namespace koord::runtimeproxy
