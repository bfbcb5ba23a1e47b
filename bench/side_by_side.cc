// Schedulers on a cluster that is there already, one after the other on the same nodes and pods:
// how fast pods get bound, and what the scheduler's process costs. Any program that reads a
// KubeSchedulerConfiguration can take part, kube-scheduler among them.

#include <fmt/format.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <future>
#include <mutex>
#include <set>

#include "base/event_loop.h"
#include "base/file.h"
#include "bench.h"
#include "cluster/up/supervisor.h"
#include "kube/http_api.h"
#include "net/http_client.h"
#include "scheduling_load.h"

namespace koord::bench {
namespace {

constexpr const char* kNamespace = "scheduler-benchmark";
constexpr const char* kScheduler = "benchmarked-scheduler";
constexpr std::chrono::seconds kPatience{60};  // without any pod being bound
constexpr int kAtOnce = 64;

[[noreturn]] void giveUp(const std::string& why) {
  fmt::print(stderr, "side-by-side: {}\n", why);
  std::exit(1);
}

kube::Request request(kube::Verb verb, const std::string& resource, const std::string& name = "") {
  kube::Request request;
  request.verb = verb;
  request.version = "v1";
  request.resource = resource;
  request.name = name;
  if (resource == "pods") request.namespace_ = kNamespace;
  return request;
}

class Cluster {
 public:
  explicit Cluster(kube::ClientConfig config) {
    thread_.runSync(
        [&] { api_ = std::make_unique<kube::HttpApi>(http_, thread_.loop(), std::move(config)); });
  }
  ~Cluster() {
    thread_.runSync([&] {
      watch_.reset();
      supervisor_.reset();
      api_.reset();
    });
  }

  // Carries out requests made by `make`, many at once. What is there already may be there, and what
  // is gone may be gone.
  void each(int count, std::function<kube::Request(int)> make) {
    std::promise<void> done;
    int next = 0, active = kAtOnce;
    thread_.loop().post([&] {
      for (int i = 0; i < kAtOnce; ++i) tasks_.spawn(some(count, make, next, active, done));
    });
    done.get_future().wait();
  }

  // Notes the pods that have a node from now on.
  void watchBound() {
    bound_.clear();
    thread_.runSync([&] { watchAgain(); });
  }
  void waitForBound(std::size_t count) {
    std::unique_lock lock(mutex_);
    while (bound_.size() < count) {
      const std::size_t before = bound_.size();
      changed_.wait_for(lock, kPatience, [&] { return bound_.size() >= count; });
      if (bound_.size() == before) giveUp(fmt::format("{} of {} pods are bound", before, count));
    }
  }

  void start(const cluster::ChildSpec& child) {
    thread_.runSync([&] {
      supervisor_ = std::make_unique<cluster::Supervisor>(
          thread_.loop(),
          [log = child.logFile](const auto& name) { giveUp(name + " ended, see " + log); });
      supervisor_->start(child);
    });
  }
  ProcessUsage usage() {
    pid_t pid = 0;
    thread_.runSync([&] { pid = supervisor_->states().front().pid; });
    return usageOf(pid);
  }
  void stop() {
    std::promise<void> done;
    thread_.loop().post([&] { tasks_.spawn(end(done)); });
    done.get_future().wait();
  }

 private:
  // A server may end a watch at any time, and does so while it is starting.
  void watchAgain() {
    auto watching = request(kube::Verb::Watch, "pods");
    watching.query["fieldSelector"] = "spec.nodeName!=";
    kube::WatchSink sink;
    sink.onEvent = [this](std::string_view event) {
      constexpr std::string_view kName = R"("metadata":{"name":")";
      const auto name = event.find(kName);
      if (!event.starts_with(R"({"type":"ADDED")") || name == event.npos) return;
      event.remove_prefix(name + kName.size());
      const std::lock_guard lock(mutex_);
      bound_.emplace(event.substr(0, event.find('"')));
      changed_.notify_all();
    };
    sink.onClosed = [this](const Error& error) {
      if (!error.message.empty()) giveUp("the watch ended: " + error.message);
      thread_.loop().post([this] { watchAgain(); });
    };
    watch_ = api_->watch(std::move(watching), std::move(sink));
  }
  Task<void> some(int count, const std::function<kube::Request(int)>& make, int& next, int& active,
                  std::promise<void>& done) {
    while (next < count) {
      auto calling = api_->call(make(next++));
      const auto reply = co_await calling;
      if (!reply && reply.error().code != ErrorCode::AlreadyExists &&
          reply.error().code != ErrorCode::NotFound)
        giveUp(reply.error().message);
    }
    if (--active == 0) done.set_value();
  }
  Task<void> end(std::promise<void>& done) {
    auto stopping = supervisor_->stopAll(std::chrono::seconds(5));
    co_await stopping;
    watch_.reset();
    done.set_value();
  }

  LoopThread thread_{"bench"};
  net::HttpClient http_{{.userAgent = "bench"}};
  std::unique_ptr<kube::HttpApi> api_;
  std::unique_ptr<kube::Watch> watch_;
  std::unique_ptr<cluster::Supervisor> supervisor_;
  TaskGroup tasks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string, std::less<>> bound_;  // names, guarded by mutex_
};

// Nodes of a cluster with node admission are born with a taint that a kubelet would have removed.
void makeNodes(Cluster& cluster, int count) {
  cluster.each(count, [](int n) {
    auto create = request(kube::Verb::Create, "nodes");
    create.body = nodeBody(n);
    return create;
  });
  cluster.each(count, [](int n) {
    auto untaint = request(kube::Verb::Patch, "nodes", fmt::format("node-{}", n));
    untaint.body = R"({"spec":{"taints":null}})";
    return untaint;
  });
}

void makePods(Cluster& cluster, int count) {
  cluster.each(count, [](int n) {
    auto create = request(kube::Verb::Create, "pods");
    create.body = podBody(fmt::format("pod-{}", n), kScheduler);
    return create;
  });
}

void removePods(Cluster& cluster, int count) {
  cluster.each(count, [](int n) {
    auto remove = request(kube::Verb::Delete, "pods", fmt::format("pod-{}", n));
    remove.body = R"({"gracePeriodSeconds":0})";
    return remove;
  });
}

Numbers measure(Cluster& cluster, const std::string& program, const std::string& config,
                const std::string& log, int pods) {
  removePods(cluster, pods);
  cluster.watchBound();
  cluster.start({"scheduler", {program, "--config=" + config, "--secure-port=0"}, {}, log});
  makePods(cluster, 1);
  cluster.waitForBound(1);
  const ProcessUsage before = cluster.usage();
  const Stopwatch watch;
  makePods(cluster, pods);  // the first is there
  cluster.waitForBound(static_cast<std::size_t>(pods));
  const double seconds = watch.seconds();
  const ProcessUsage after = cluster.usage();
  cluster.stop();
  removePods(cluster, pods);
  return {{"pods_per_second", (pods - 1) / seconds},
          {"scheduler_cpu_ms_per_pod", 1000 * (after.cpuSeconds - before.cpuSeconds) / (pods - 1)},
          {"scheduler_idle_rss_mib", before.rssMib},
          {"scheduler_peak_rss_mib", after.peakMib}};
}

int run(int argc, char** argv) {
  CLI::App app("Schedulers side by side on a running cluster, which should have no other nodes");
  std::string kubeconfig;
  std::vector<std::string> programs;
  int nodes = 5000, pods = 10'000;
  app.add_option("--kubeconfig", kubeconfig, "Of an administrator")->required();
  app.add_option("--scheduler", programs, "Path of a scheduler's program; may be repeated")
      ->required();
  app.add_option("--nodes", nodes, "How many nodes to have, left behind")->capture_default_str();
  app.add_option("--pods", pods, "How many pods each places, removed after")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  auto client = kube::loadClientConfig({.kubeconfig = kubeconfig, .context = {}, .server = {}});
  if (!client) giveUp(client.error().message);
  char folder[] = "/tmp/side-by-side-XXXXXX";
  if (!mkdtemp(folder)) giveUp("no temporary folder");
  const std::string config = std::string(folder) + "/scheduler.json";
  const auto written = writeFileAtomic(
      config,
      fmt::format(
          R"({{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration",
      "clientConnection":{{"kubeconfig":"{}","qps":100000,"burst":100000}},
      "leaderElection":{{"leaderElect":false}},"profiles":[{{"schedulerName":"{}"}}]}})",
          std::filesystem::absolute(kubeconfig).string(), kScheduler));
  if (!written) giveUp(written.error().message);

  Cluster cluster(*std::move(client));
  cluster.each(1, [](int) {
    auto create = request(kube::Verb::Create, "namespaces");
    create.body = fmt::format(
        R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}"}}}})", kNamespace);
    return create;
  });
  makeNodes(cluster, nodes);
  std::vector<Benchmark> benchmarks;
  int round = 0;
  for (const auto& program : programs) {
    const std::string log = fmt::format("{}/scheduler-{}.log", folder, ++round);
    benchmarks.push_back(
        {fmt::format("SideBySide/{}/{}Nodes_{}Pods",
                     std::filesystem::path(program).filename().string(), nodes, pods),
         {{"nodes", nodes}, {"pods", pods}},
         [&, log](const Numbers&) { return measure(cluster, program, config, log, pods); }});
  }
  const int status = runAll(1, argv, benchmarks);
  std::filesystem::remove_all(folder);
  return status;
}

}  // namespace
}  // namespace koord::bench

int main(int argc, char** argv) {
  return koord::bench::run(argc, argv);
}
