// Schedulers on a cluster that is there already, one after the other on the same nodes and pods:
// how fast pods get bound, and what the scheduler's process costs. Any program that reads a
// KubeSchedulerConfiguration can take part, kube-scheduler among them.

#include <fmt/format.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>

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

class Cluster {
 public:
  explicit Cluster(kube::ClientConfig config) {
    thread_.runSync(
        [&] { api_ = std::make_unique<kube::HttpApi>(http_, thread_.loop(), std::move(config)); });
    load_.emplace(thread_, *api_, kNamespace);
  }
  ~Cluster() {
    load_.reset();
    thread_.runSync([&] {
      supervisor_.reset();
      api_.reset();
    });
  }

  SchedulingLoad& load() { return *load_; }

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
  Task<void> end(std::promise<void>& done) {
    auto stopping = supervisor_->stopAll(std::chrono::seconds(5));
    co_await stopping;
    done.set_value();
  }

  LoopThread thread_{"bench"};
  net::HttpClient http_{{.userAgent = "bench"}};
  std::unique_ptr<kube::HttpApi> api_;
  std::optional<SchedulingLoad> load_;
  std::unique_ptr<cluster::Supervisor> supervisor_;
  TaskGroup tasks_;
};

// Nodes of a cluster with node admission are born with a taint that a kubelet would have removed.
void makeNodes(SchedulingLoad& load, int count) {
  load.each(count, [](int n) {
    auto create = coreRequest(kube::Verb::Create, "nodes");
    create.body = nodeBody(n);
    return create;
  });
  load.each(count, [](int n) {
    auto untaint = coreRequest(kube::Verb::Patch, "nodes", "", fmt::format("node-{}", n));
    untaint.body = R"({"spec":{"taints":null}})";
    return untaint;
  });
}

void makePods(SchedulingLoad& load, int count) {
  load.each(count, [](int n) {
    auto create = coreRequest(kube::Verb::Create, "pods", kNamespace);
    create.body = podBody(fmt::format("pod-{}", n), kScheduler);
    return create;
  });
}

void removePods(SchedulingLoad& load, int count) {
  load.each(count, [](int n) {
    auto remove = coreRequest(kube::Verb::Delete, "pods", kNamespace, fmt::format("pod-{}", n));
    remove.body = R"({"gracePeriodSeconds":0})";
    return remove;
  });
}

Numbers measure(Cluster& cluster, const std::string& program, const std::string& config,
                const std::string& log, int pods) {
  SchedulingLoad& load = cluster.load();
  removePods(load, pods);
  load.watchBound();
  cluster.start({"scheduler", {program, "--config=" + config, "--secure-port=0"}, {}, log});
  makePods(load, 1);
  load.waitForBound(1, kPatience);
  const ProcessUsage before = cluster.usage();
  const Stopwatch watch;
  makePods(load, pods);  // the first is there
  load.waitForBound(static_cast<std::size_t>(pods), kPatience);
  const double seconds = watch.seconds();
  const ProcessUsage after = cluster.usage();
  cluster.stop();
  removePods(load, pods);
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
  cluster.load().each(1, [](int) {
    auto create = coreRequest(kube::Verb::Create, "namespaces");
    create.body = fmt::format(
        R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}"}}}})", kNamespace);
    return create;
  });
  makeNodes(cluster.load(), nodes);
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
