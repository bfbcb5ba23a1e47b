// koord-runtime-proxy as a process of its own between a client and a runtime of a few lines: what
// it adds to a call, with and without a hook server, how many calls it passes on, how fast bytes go
// through it, and its memory with the pods of a full node.

#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "base/file.h"
#include "bench.h"
#include "net/rpc/grpc_channel.h"
#include "net/rpc/grpc_server.h"
#include "net/rpc/unix_socket.h"
#include "runtime_cri.pb.h"
#include "runtime_hook.pb.h"

namespace koord::bench {
namespace {

using namespace std::chrono_literals;
using net::GrpcReply;

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

std::string criCall(const char* method) {
  return std::string("/runtime.v1.RuntimeService/") + method;
}

cri::CreateContainerRequest container(int number) {
  cri::CreateContainerRequest request;
  request.set_pod_sandbox_id("sandbox");
  request.mutable_config()->mutable_metadata()->set_name(fmt::format("main-{}", number));
  request.mutable_config()->mutable_linux()->mutable_resources()->set_cpu_shares(2);
  for (int i = 0; i < 20; ++i) {
    auto* variable = request.mutable_config()->add_envs();
    variable->set_key(fmt::format("SERVICE_{}_PORT", i));
    variable->set_value("tcp://10.0.0.1:8080");
  }
  auto& sandbox = *request.mutable_sandbox_config();
  sandbox.mutable_metadata()->set_name(fmt::format("web-{}", number));
  sandbox.mutable_metadata()->set_uid(fmt::format("5a4b0d3c-27c1-4f0e-9d52-{:012}", number));
  (*sandbox.mutable_annotations())["node.koordinator.sh/extended-resource-spec"] =
      R"({"containers":{"main":{"requests":{"kubernetes.io/batch-cpu":"1000"}}}})";
  for (int i = 0; i < 8; ++i)
    (*sandbox.mutable_labels())[fmt::format("example.com/label-{}", i)] = "some-value";
  return request;
}

// The runtime and a hook server, each on a thread.
class Surroundings {
 public:
  explicit Surroundings(bool hooks)
      : folder_(fmt::format("/tmp/koord-bench-proxy-{}", ::getpid())) {
    std::filesystem::create_directories(folder_ + "/hooks");
    runtimeThread_.runSync([this] {
      runtime_ = *net::GrpcServer::start(
          runtimeThread_.loop(), at("runtime.sock"),
          [this](net::GrpcRequest request, net::GrpcAnswer answer) { serve(request, answer); });
    });
    hookThread_.runSync([this] {
      hookServer_ = *net::GrpcServer::start(
          hookThread_.loop(), at("hooks.sock"),
          [](net::GrpcRequest request, net::GrpcAnswer answer) {
            runtimehook::ContainerResourceHookRequest asked;
            asked.ParseFromString(request.message);
            runtimehook::ContainerResourceHookResponse response;
            *response.mutable_container_resources() = asked.container_resources();
            response.mutable_container_resources()->set_cpu_shares(1024);
            answer(response.SerializeAsString());
          });
    });
    if (hooks)
      require(writeFileAtomic(at("hooks/k.json"),
                              fmt::format(R"({{"remote-endpoint":"{}","runtime-hooks":
                                             ["PreCreateContainer"]}})",
                                          at("hooks.sock")))
                  .has_value(),
              "write the hook server's file");
    startProxy();
  }
  ~Surroundings() {
    ::kill(proxy_, SIGKILL);
    ::waitpid(proxy_, nullptr, 0);
    runtimeThread_.runSync([this] { runtime_.reset(); });
    hookThread_.runSync([this] { hookServer_.reset(); });
    std::filesystem::remove_all(folder_);
  }

  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  double proxyMemoryMib() const {
    std::ifstream status(fmt::format("/proc/{}/status", proxy_));
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("VmRSS:")) return std::atof(line.c_str() + 6) / 1024;
    return 0;
  }
  // Of its user and kernel time, so far.
  double proxyCpuSeconds() const {
    std::ifstream stat(fmt::format("/proc/{}/stat", proxy_));
    std::string word;
    for (int i = 0; i < 13; ++i) stat >> word;
    double user = 0, system = 0;
    stat >> user >> system;
    return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }
  // The pages of its files are not shared either, but the process does not control them.
  double proxyPrivateMib() const {
    std::ifstream status(fmt::format("/proc/{}/status", proxy_));
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("RssAnon:")) return std::atof(line.c_str() + 8) / 1024;
    return 0;
  }

 private:
  void serve(net::GrpcRequest& request, net::GrpcAnswer& answer) {
    if (request.method.ends_with("/CreateContainer")) {
      cri::CreateContainerResponse made;
      made.set_container_id(fmt::format("{:064}", ++made_));
      return answer(made.SerializeAsString());
    }
    if (request.method.ends_with("/Large")) return answer(std::string(8 << 20, 'x'));
    answer(std::string());
  }

  void startProxy() {
    const auto program =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "koord-runtime-proxy";
    const std::vector<std::string> words{program,
                                         "--koord-runtimeproxy-endpoint=" + at("proxy.sock"),
                                         "--remote-runtime-service-endpoint=" + at("runtime.sock"),
                                         "--hook-server-config-dir=" + at("hooks")};
    std::vector<char*> argv;
    for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0);
    const int error = ::posix_spawn(&proxy_, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    require(error == 0, "start " + program.string());
    // The file exists a moment before the socket listens.
    bool listens = false;
    for (int i = 0; i < 5000 && !listens; ++i) {
      ::usleep(1000);
      listens = net::connectUnix(at("proxy.sock")).has_value();
    }
    require(listens, "the proxy does not listen");
  }

  std::string folder_;
  net::IoThread runtimeThread_{"runtime"};
  net::IoThread hookThread_{"hooks"};
  std::unique_ptr<net::GrpcServer> runtime_;
  std::unique_ptr<net::GrpcServer> hookServer_;
  int made_ = 0;
  pid_t proxy_ = 0;
};

// Calls one after the other, or so many at once.
class Caller {
 public:
  Caller(const std::string& socket) : channel_(loop_, socket) {}

  // Microseconds of each call.
  std::vector<double> measure(const std::string& method, const std::string& message, int count,
                              int atOnce = 1) {
    std::vector<double> samples;
    TaskGroup tasks;
    for (int i = 0; i < atOnce; ++i)
      tasks.spawn(callMany(this, method, message, count / atOnce, &samples));
    running_ = atOnce;
    while (running_ > 0) loop_.run();
    return samples;
  }

 private:
  static Task<void> callMany(Caller* self, std::string method, std::string message, int count,
                             std::vector<double>* samples) {
    for (int i = 0; i < count; ++i) {
      const Stopwatch watch;
      auto calling = self->channel_.call(method, message, 60s);
      const GrpcReply reply = co_await calling;
      require(reply.has_value(), reply ? "" : reply.error().text());
      samples->push_back(watch.seconds() * 1e6);
    }
    if (--self->running_ == 0) self->loop_.stop();
  }

  net::IoLoop loop_;
  net::GrpcChannel channel_;
  int running_ = 0;
};

Numbers addedLatency(const Numbers& params) {
  const bool hooks = params.at("hooks") > 0;
  Surroundings around(hooks);
  const std::string method = criCall(hooks ? "CreateContainer" : "ContainerStatus");
  const std::string message = container(1).SerializeAsString();
  Caller direct(around.at("runtime.sock")), proxied(around.at("proxy.sock"));
  const int count = static_cast<int>(params.at("calls"));
  for (auto* caller : {&direct, &proxied}) caller->measure(method, message, count / 10);
  auto without = direct.measure(method, message, count);
  auto with = proxied.measure(method, message, count);
  return {{"added_p50_us", percentile(with, 0.5) - percentile(without, 0.5)},
          {"added_p99_us", percentile(with, 0.99) - percentile(without, 0.99)},
          {"p50_us", percentile(with, 0.5)},
          {"p99_us", percentile(with, 0.99)}};
}

Numbers throughput(const Numbers& params) {
  Surroundings around(false);
  Caller caller(around.at("proxy.sock"));
  const int count = static_cast<int>(params.at("calls"));
  const Stopwatch watch;
  caller.measure(criCall("ContainerStatus"), container(1).SerializeAsString(), count,
                 static_cast<int>(params.at("at_once")));
  return {{"calls_per_s", count / watch.seconds()}};
}

// As logs and lists go: an answer of 8 MiB after the other. Its reader and writer take most of the
// time themselves, so the proxy's own CPU tells more.
Numbers bytes(const Numbers& params) {
  Surroundings around(false);
  Numbers numbers;
  for (const char* name : {"runtime.sock", "proxy.sock"}) {
    Caller caller(around.at(name));
    const int count = static_cast<int>(params.at("answers"));
    const Stopwatch watch;
    const double cpu = around.proxyCpuSeconds();
    caller.measure("/runtime.v1.ImageService/Large", "", count);
    numbers["proxy_cpu_ms_per_gib"] = (around.proxyCpuSeconds() - cpu) * 1e3 / (count * 8) * 1024;
    numbers[std::string(name) == "proxy.sock" ? "mib_per_s" : "direct_mib_per_s"] =
        count * 8 / watch.seconds();
  }
  return numbers;
}

Numbers memory(const Numbers& params) {
  Surroundings around(true);
  Caller caller(around.at("proxy.sock"));
  for (int i = 0; i < static_cast<int>(params.at("containers")); ++i)
    caller.measure(criCall("CreateContainer"), container(i).SerializeAsString(), 1);
  return {{"rss_mib", around.proxyMemoryMib()}, {"rss_anonymous_mib", around.proxyPrivateMib()}};
}

}  // namespace
}  // namespace koord::bench

int main(int argc, char** argv) {
  using namespace koord::bench;
  return runAll(argc, argv,
                {{"runtimeproxy/added", {{"hooks", 0}, {"calls", 10'000}}, addedLatency},
                 {"runtimeproxy/added", {{"hooks", 1}, {"calls", 5'000}}, addedLatency},
                 {"runtimeproxy/throughput", {{"at_once", 64}, {"calls", 50'000}}, throughput},
                 {"runtimeproxy/bytes", {{"answers", 100}}, bytes},
                 {"runtimeproxy/memory", {{"containers", 500}}, memory}});
}
