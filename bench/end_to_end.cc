// The real koord-scheduler, as a process of its own, against the embedded API server over TLS: how
// fast pods get bound, and what the scheduler's process costs in CPU and memory. The server and the
// clients that make nodes and pods share this process, so its CPU is the rest of the work.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "apiserver/http_front.h"
#include "apiserver/local_api.h"
#include "base/event_loop.h"
#include "base/file.h"
#include "bench.h"
#include "cluster/up/components.h"
#include "cluster/up/credentials.h"
#include "cluster/up/data_dir.h"
#include "scheduling_load.h"

namespace koord::bench {
namespace {

constexpr const char* kScheduler = "koord-scheduler";
// Kubernetes' plugins only: this API server lacks the kinds that Koordinator's plugins read.
constexpr const char* kConfiguration = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {qps: 20000, burst: 20000}
leaderElection: {resourceNamespace: koordinator-system, resourceName: koord-scheduler}
profiles:
- schedulerName: koord-scheduler
)";
constexpr std::chrono::seconds kPatience{20};  // without any pod being bound

template <class T>
T need(Result<T> result, const char* what) {
  if (!result) giveUp(fmt::format("{}: {}", what, result.error().message));
  return *std::move(result);
}

class Cluster {
 public:
  // contentType: what the scheduler speaks; "" = its default.
  explicit Cluster(const std::string& programs, const std::string& contentType = "",
                   bool record = false) {
    const auto now = thread_.loop().wallNow();
    const auto credentials = need(cluster::Credentials::open(folder_.path(), now), "credentials");
    auto tls = need(credentials.server({"127.0.0.1"}), "certificate");
    thread_.runSync([&] {
      server_ = need(apiserver::Server::open(thread_.loop(), {}), "API server");
      apiserver::HttpFrontOptions options;
      options.tls = std::move(tls);
      front_ = need(apiserver::HttpFront::start(*server_, std::move(options)), "API server");
      api_ = std::make_unique<apiserver::LocalApi>(*server_, thread_.loop());
    });
    load_.emplace(thread_, *api_, "default");
    load_->watchBound();
    const std::string kubeconfig = folder_.file("kubeconfig");
    const std::string text =
        need(credentials.kubeconfig("https://" + front_->address(), "system:kube-scheduler", {}),
             "kubeconfig");
    (void)writeFileAtomic(kubeconfig, text);
    cluster::ComponentOptions options;
    options.programDir = programs;
    options.logDir = folder_.file("logs");
    options.dataDir = folder_.path();
    options.record = record;
    options.configDir = folder_.path();
    (void)writeFileAtomic(folder_.file("koord-scheduler.yaml"), kConfiguration);
    scheduler_ = need(cluster::makeComponent("koord-scheduler", kubeconfig, options), "scheduler");
    if (!contentType.empty())
      scheduler_.child.argv.push_back("--kube-api-content-type=" + contentType);
  }
  ~Cluster() {
    std::promise<void> stopped;
    thread_.loop().post([&] { tasks_.spawn(end(stopped)); });
    stopped.get_future().wait();
    load_.reset();
    thread_.runSync([&] {
      supervisor_.reset();
      api_.reset();
      front_.reset();
      server_.reset();
    });
  }

  void startScheduler() {
    thread_.runSync([&] {
      supervisor_ = std::make_unique<cluster::Supervisor>(
          thread_.loop(), [](const auto& name) { giveUp(name + " ended"); });
      supervisor_->start(scheduler_.child);
    });
  }
  ProcessUsage usage() {
    pid_t pid = 0;
    thread_.runSync([&] { pid = supervisor_->states().front().pid; });
    return usageOf(pid);
  }

  void create(const std::string& resource, int count, std::function<std::string(int)> body) {
    load_->each(count, [&](int n) {
      auto create = coreRequest(kube::Verb::Create, resource, resource == "pods" ? "default" : "");
      create.body = body(n);
      return create;
    });
  }
  double recordedMib() const {
    std::error_code ec;
    const auto size = std::filesystem::file_size(folder_.file("koord-scheduler.rec"), ec);
    return ec ? 0 : static_cast<double>(size) / (1 << 20);
  }
  void waitForBound(int count) { load_->waitForBound(static_cast<std::size_t>(count), kPatience); }

 private:
  Task<void> end(std::promise<void>& stopped) {
    if (supervisor_) {
      auto stopping = supervisor_->stopAll(std::chrono::seconds(3));
      co_await stopping;
    }
    auto closing = front_->shutdown(std::chrono::milliseconds(200));
    co_await closing;
    stopped.set_value();
  }

  cluster::DataDir folder_ = need(cluster::DataDir::temporary(), "temporary folder");
  LoopThread thread_{"apiserver"};
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<apiserver::HttpFront> front_;
  std::unique_ptr<apiserver::LocalApi> api_;
  std::optional<SchedulingLoad> load_;
  cluster::Component scheduler_;
  std::unique_ptr<cluster::Supervisor> supervisor_;
  TaskGroup tasks_;
};

std::string programsFolder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

// `running` pods are there when the scheduler starts; `pods` are created, and bound by it, after.
Numbers measure(const Numbers& params) {
  const int nodes = static_cast<int>(params.at("nodes"));
  const int pods = static_cast<int>(params.at("pods"));
  const int running = params.contains("running") ? static_cast<int>(params.at("running")) : 0;
  Cluster cluster(programsFolder(), params.contains("json") ? "application/json" : "",
                  params.contains("record"));
  cluster.create("nodes", nodes, nodeBody);
  cluster.create("pods", running, [nodes](int n) {
    return podBody(fmt::format("running-{}", n), kScheduler, fmt::format("node-{}", n % nodes));
  });
  cluster.create("namespaces", 1, [](int) {  // of its lease
    return R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"koordinator-system"}})";
  });
  cluster.startScheduler();
  const Stopwatch starting;
  cluster.create("pods", 1, [](int) { return podBody("first", kScheduler); });
  cluster.waitForBound(running + 1);
  const double started = starting.seconds();

  const ProcessUsage before = cluster.usage();
  const double rest = cpuSeconds();
  const Stopwatch watch;
  // All as fast as can be, or one after the other.
  const auto body = [](int n) { return podBody(fmt::format("pod-{}", n), kScheduler); };
  if (!params.contains("rate")) cluster.create("pods", pods, body);
  for (int n = 0; params.contains("rate") && n < pods; ++n) {
    cluster.create("pods", 1, [n, &body](int) { return body(n); });
    std::this_thread::sleep_for(std::chrono::duration<double>(1 / params.at("rate")));
  }
  cluster.waitForBound(running + 1 + pods);
  const double seconds = watch.seconds();
  const ProcessUsage after = cluster.usage();
  Numbers numbers{
      {"pods_per_second", pods / seconds},
      {"scheduler_cpu_ms_per_pod", 1000 * (after.cpuSeconds - before.cpuSeconds) / pods},
      {"server_cpu_ms_per_pod", 1000 * (cpuSeconds() - rest) / pods},
      {"scheduler_idle_rss_mib", before.rssMib},
      {"scheduler_rss_mib", after.rssMib},
      {"scheduler_peak_rss_mib", after.peakMib},
      {"start_to_first_bound_s", started}};
  if (params.contains("record")) numbers["recording_mib"] = cluster.recordedMib();
  return numbers;
}

// The same with and without a recording, in turn, because the host is shared: the median of the
// CPU of each.
Numbers measureRecording(Numbers params) {
  constexpr int kRounds = 5;
  std::vector<double> with, without;
  Numbers last;
  for (int round = 0; round < kRounds; ++round) {
    params.erase("record");
    without.push_back(measure(params).at("scheduler_cpu_ms_per_pod"));
    params["record"] = 1;
    last = measure(params);
    with.push_back(last.at("scheduler_cpu_ms_per_pod"));
  }
  const auto median = [](std::vector<double>& values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
  };
  const double on = median(with), off = median(without);
  return {{"scheduler_cpu_ms_per_pod", off},
          {"scheduler_cpu_ms_per_pod_recorded", on},
          {"cost_percent", 100 * (on / off - 1)},
          {"recording_mib", last.at("recording_mib")}};
}

}  // namespace
}  // namespace koord::bench

int main(int argc, char** argv) {
  using namespace koord::bench;
  const auto basic = [](int nodes, int pods) -> Benchmark {
    return {fmt::format("EndToEnd/SchedulingBasic/{}Nodes_{}Pods", nodes, pods),
            {{"nodes", nodes}, {"pods", pods}},
            measure};
  };
  // As many pods a second as a real kube-apiserver with etcd takes: each answer and event finds the
  // scheduler asleep.
  const auto paced = [](bool json) -> Benchmark {
    Numbers params{{"nodes", 1'000}, {"pods", 3'000}, {"rate", 600}};
    if (json) params["json"] = 1;
    return {fmt::format("EndToEnd/Paced{}/600PodsPerSecond", json ? "InJson" : ""), params,
            measure};
  };
  return runAll(argc, argv,
                {basic(100, 10'000),
                 basic(5'000, 10'000),
                 {"EndToEnd/SchedulingBasicInJson/5000Nodes_10000Pods",
                  {{"nodes", 5'000}, {"pods", 10'000}, {"json", 1}},
                  measure},
                 {"EndToEnd/Recording/5000Nodes_30000Pods",
                  {{"nodes", 5'000}, {"pods", 30'000}},
                  measureRecording},
                 {"EndToEnd/RecordingPaced/600PodsPerSecond",
                  {{"nodes", 1'000}, {"pods", 3'000}, {"rate", 600}},
                  measureRecording},
                 paced(false),
                 paced(true),
                 {"EndToEnd/Memory/5000Nodes_150000Pods",
                  {{"nodes", 5'000}, {"running", 150'000}, {"pods", 1'000}},
                  measure}});
}
