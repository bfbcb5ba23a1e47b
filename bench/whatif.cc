// Simulations by fork (scheduler/oracle): 5,000 nodes, 150,000 pods, the shipped configuration.
// "WhatIf/...": from the question as JSON until the answer as JSON, in wall time, over `rounds`
// questions; fork_...: the part for which the scheduler stands still; cpu_...: the CPU time of
// parent and child. Before each question some pods are placed, because a scheduler at work writes
// memory between forks. Run each alone (--filter): memory that was freed before has no huge pages.
// "WhatIf/throughput": pods that the scheduler places per second of wall and CPU time in turns
// within one run: alone; with ten questions about one pod a second that share forks, as
// koord-scheduler answers them (asked_...); and with a fork for each of them (each_...). The shares
// compare with "alone". answer_...: from the question until its answer.

#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "api/codec.h"
#include "base/virtual_loop.h"
#include "bench.h"
#include "scheduler/app/malloc_conf.h"
#include "scheduler/config/shipped.h"
#include "scheduler/core/informers.h"
#include "scheduler/oracle/shared_forks.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/testing/builders.h"

// As koord-scheduler's.
extern "C" const char* const malloc_conf;
const char* const malloc_conf = koord::scheduler::kMallocConf;

namespace {

using namespace koord;             // NOLINT: a program of its own
using namespace koord::scheduler;  // NOLINT
using bench::Numbers;
using bench::Stopwatch;
using scheduler::testing::NodeBuilder;
using scheduler::testing::PodBuilder;

constexpr int kClasses = 200;
constexpr int kBatch = 1000;
constexpr int kTurns = 250;   // pods between two looks at the clock, 10 ms
constexpr double kPhase = 4;  // seconds

// Binds at once.
class InstantApi final : public kube::Api {
 public:
  Task<Result<std::string>> call(kube::Request request) override {
    if (request.subresource == "binding") onBind(request);
    co_return std::string("{}");
  }
  std::unique_ptr<kube::Watch> watch(kube::Request, kube::WatchSink) override { return nullptr; }
  std::function<void(const kube::Request&)> onBind;
};

PodBuilder podNumber(int n) {
  const int c = n % kClasses;
  PodBuilder pod(fmt::format("pod-{}", n));
  pod.request("cpu", fmt::format("{}m", 500 + 10 * (c % 20)))
      .request("memory", fmt::format("{}Mi", 1024 + c))
      .label("app", fmt::format("app-{}", c));
  api::OwnerReference owner;
  owner.apiVersion = "apps/v1";
  owner.kind = "ReplicaSet";
  owner.name = fmt::format("app-{}", c);
  owner.uid = fmt::format("uid-app-{}", c);
  owner.controller = true;
  pod.object().metadata.ownerReferences.push_back(std::move(owner));
  return pod;
}

struct Bed {
  VirtualLoop loop;
  InstantApi api;
  oracle::Seam seam{loop, api};
  Registry registry = makeRegistry();
  std::unique_ptr<Scheduler> scheduler;
  int nodes;
  int pods = 0;
  std::deque<std::shared_ptr<const api::Pod>> running;

  Bed(int nodeCount, int podCount) : nodes(nodeCount) {
    SchedulerOptions options;
    options.configuration = *parseConfiguration(shippedConfiguration({"default-scheduler"}));
    scheduler = *Scheduler::create(std::move(options), registry, seam.executor, &seam.api);
    for (int n = 0; n < nodes; ++n) {
      NodeBuilder node(fmt::format("node-{}", n));
      node.allocatable("cpu", "32").allocatable("memory", "128Gi");
      node.label("kubernetes.io/hostname", fmt::format("node-{}", n));
      scheduler->nodeAdded(node.build());
    }
    const auto reader = podReader(*scheduler);
    for (; pods < podCount; ++pods) {
      auto pod = std::make_shared<api::Pod>(
          *podNumber(pods).nodeName(fmt::format("node-{}", pods % nodes)).build());
      reader(*pod);
      scheduler->podAdded(pod);
      running.push_back(std::move(pod));
    }
    api.onBind = [this](const kube::Request& request) { bind(request.name); };
    scheduler->start();
    loop.runReady();
  }
  void bind(const std::string& name) {
    const PodPtr pending = scheduler->pending({"default", name});
    if (!pending) return;
    auto after = std::make_shared<api::Pod>(*pending->pod);
    const auto binding = scheduler->cluster().findPod(pending->uid());
    after->spec.nodeName = scheduler->cluster().node(binding->node).name;
    after->metadata.resourceVersion += "1";
    loop.post([this, before = pending->pod, after] {
      scheduler->podUpdated(before, after);
      running.push_back(after);
    });
  }
  // The cluster stays as full as it is.
  void place(int count) {
    for (int i = 0; i < count; ++i) {
      scheduler->podDeleted(running.front());
      running.pop_front();
      scheduler->podAdded(podNumber(pods++).build());
    }
    loop.runReady();
  }
};

struct Asking {
  std::string body;
  oracle::CompletePods complete;
  // Of pods, that must be; nullopt: the answer must be complete.
  std::optional<std::int64_t> placed = 0;
};

std::string questionOf(json::object spec) {
  return toJson(oracle::simulationOf(std::move(spec)));
}

json::value workload(const std::string& name, std::int64_t replicas, bool gang) {
  json::object labels{{"app", name}};
  if (gang) labels["pod-group.scheduling.sigs.k8s.io"] = name;
  json::object container{
      {"name", "main"},
      {"resources", json::object{{"requests", json::object{{"cpu", "100m"}, {"memory", "1Gi"}}}}}};
  json::object pod{{"metadata", json::object{{"labels", labels}}},
                   {"spec", json::object{{"containers", json::array{std::move(container)}}}}};
  return json::object{
      {"apiVersion", "batch/v1"},
      {"kind", "Job"},
      {"metadata", json::object{{"name", name}, {"namespace", "default"}}},
      {"spec", json::object{{"parallelism", replicas}, {"template", std::move(pod)}}}};
}

Asking onePod(Bed&) {
  return {questionOf({{"objects", json::array{workload("one", 1, false)}}}), {}, 1};
}

Asking gang(Bed&) {
  json::object group{{"apiVersion", "scheduling.sigs.k8s.io/v1alpha1"},
                     {"kind", "PodGroup"},
                     {"metadata", json::object{{"name", "train"}, {"namespace", "default"}}},
                     {"spec", json::object{{"minMember", 512}}}};
  return {questionOf({{"objects", json::array{std::move(group), workload("train", 512, true)}}}),
          {},
          512};
}

Asking drain(Bed& bed) {
  Asking asking;
  json::array names;
  for (int n = 0; n < 50; ++n) {
    names.push_back(json::string(fmt::format("node-{}", 7 * n)));
    const auto node = *bed.scheduler->cluster().findNode(fmt::format("node-{}", 7 * n));
    for (const PodPtr& pod : bed.scheduler->cluster().node(node).pods) {
      asking.complete.emplace(pod->uid(), pod->pod);
      ++*asking.placed;
    }
  }
  asking.body = questionOf({{"drainNodes", std::move(names)}});
  return asking;
}

Asking growth(Bed&) {
  json::array nodes{json::object{{"count", 500}, {"like", "node-1"}}};
  return {questionOf({{"addNodes", std::move(nodes)},
                      {"objects", json::array{workload("wave", 10'000, false)}}}),
          {},
          10'000};
}

// How many more pods of 2 CPUs fit: about 6 on each node.
Asking fill(Bed&) {
  json::value job = workload("more", 1, false);
  json::value& container = job.at_pointer("/spec/template/spec/containers/0/resources/requests");
  container = json::object{{"cpu", "2"}, {"memory", "8Gi"}};
  return {questionOf({{"fill", json::object{}}, {"objects", json::array{std::move(job)}}}),
          {},
          std::nullopt};
}

// How many nodes 10,000 pods need.
Asking nodesFor(Bed&) {
  return {questionOf({{"nodesFor", json::object{{"like", "node-1"}}},
                      {"objects", json::array{workload("wave", 10'000, false)}}}),
          {},
          std::nullopt};
}

struct Times {
  double fork = 0, whole = 0, cpu = 0;
};

// CPU seconds of this process and of the children that have ended.
double allCpuSeconds() {
  double seconds = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    ::getrusage(who, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime})
      seconds += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  }
  return seconds;
}

Times ask(Bed& bed, const Asking& asking) {
  const Stopwatch watch;
  const double cpu = allCpuSeconds();
  const auto document = parseJson(asking.body);
  const auto question = oracle::readQuestion(*document);
  if (!question) throw std::runtime_error(question.error().message);
  auto child = oracle::ask(*bed.scheduler, bed.seam, bed.registry, *question, asking.complete,
                           {.time = std::chrono::seconds(60)});
  if (!child) throw std::runtime_error(child.error().message);
  const double fork = watch.seconds();
  const std::atomic<bool> cancelled = false;
  const auto text = oracle::answerOf(*std::move(child), cancelled);
  if (!text) throw std::runtime_error(text.error().message);
  const double whole = watch.seconds();
  const double used = allCpuSeconds() - cpu;
  const auto answer = parseJson(*text);
  const json::value& status = memberOf(*answer, "status");
  if (asking.placed ? memberOf(status, "placed") != json::value(*asking.placed)
                    : memberOf(status, "complete") != json::value(true))
    throw std::runtime_error(text->substr(0, 1000));
  return {fork, whole, used};
}

Numbers timesOf(const Numbers& params, const std::function<Asking(Bed&)>& make) {
  Bed bed(static_cast<int>(params.at("nodes")), static_cast<int>(params.at("pods")));
  std::vector<double> forks, wholes, cpus;
  bed.place(kBatch);
  for (int round = 0; round < params.at("rounds"); ++round) {
    bed.place(100);
    const Times times = ask(bed, make(bed));
    forks.push_back(1000 * times.fork);
    wholes.push_back(1000 * times.whole);
    cpus.push_back(1000 * times.cpu);
  }
  return {{"fork_p50_ms", bench::percentile(forks, 0.5)},
          {"fork_p99_ms", bench::percentile(forks, 0.99)},
          {"p50_ms", bench::percentile(wholes, 0.5)},
          {"p99_ms", bench::percentile(wholes, 0.99)},
          {"cpu_p50_ms", bench::percentile(cpus, 0.5)},
          {"cpu_p99_ms", bench::percentile(cpus, 0.99)},
          {"resident_mib", bench::rssMib()}};
}

double childMib() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct Rate {
  double pods = 0, wall = 0, cpu = 0;
  double forks = 0;
  std::vector<double> answers = {};  // ms
  double perSecond() const { return pods / wall; }
  double perCpuSecond() const { return pods / cpu; }
};

enum class Forks { None, Each, Shared };

// Asks about one pod every `period` seconds, answered by children beside.
class Asker {
 public:
  Asker(Bed& bed, double period, Forks mode)
      : bed_(bed), period_(period), mode_(mode), forks_(subject(), bed.registry, 1) {}
  // Between two turns of the scheduler.
  void look() {
    std::erase_if(running_, [](const std::unique_ptr<Running>& one) { return one->done.load(); });
    for (; watch_.seconds() >= next_; next_ += period_) {
      if (mode_ == Forks::Each) {
        auto child = oracle::ask(*bed_.scheduler, bed_.seam, bed_.registry, question_, pods_);
        if (!child) throw std::runtime_error(child.error().message);
        wait({*std::move(child), nullptr}, watch_.seconds());
        ++each_;
      } else {
        forks_.add({.asked = {&question_, &pods_},
                    .cancelled = cancelled_,
                    .started = [this, since = watch_.seconds()](auto started) {
                      if (!started) throw std::runtime_error(started.error().message);
                      wait(std::move(started.value()), since);
                    }});
      }
    }
    if (mode_ == Forks::Shared) forks_.look();
  }
  void finish(Rate& rate) {
    while (!running_.empty()) look();
    rate.forks += mode_ == Forks::Each ? each_ : static_cast<double>(forks_.forks());
    rate.answers.insert(rate.answers.end(), answers_.begin(), answers_.end());
  }

 private:
  struct Running {
    std::atomic<bool> done = false;
    std::shared_ptr<void> place;
    std::jthread thread;
  };
  std::function<oracle::Askable()> subject() {
    return [this] { return oracle::Askable{bed_.scheduler.get(), &bed_.seam, {}}; };
  }
  void wait(oracle::SharedForks::Started started, double since) {
    auto& running = *running_.emplace_back(std::make_unique<Running>());
    running.place = std::move(started.place);
    running.thread =
        std::jthread([this, &running, since, child = std::move(started.answer)]() mutable {
          const auto text = oracle::answerOf(std::move(child), *cancelled_);
          if (!text) std::fprintf(stderr, "%s\n", text.error().message.c_str());
          const std::lock_guard lock(mutex_);
          answers_.push_back(1000 * (watch_.seconds() - since));
          running.done = true;
        });
  }

  Bed& bed_;
  const double period_;
  const Forks mode_;
  const Stopwatch watch_;
  double next_ = period_;
  double each_ = 0;
  const oracle::Question question_ = *oracle::readQuestion(*parseJson(onePod(bed_).body));
  const oracle::CompletePods pods_;
  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  oracle::SharedForks forks_;
  std::mutex mutex_;
  std::vector<double> answers_;  // guarded by mutex_
  std::vector<std::unique_ptr<Running>> running_;
};

// Places pods for so long.
void run(Bed& bed, double seconds, double period, Forks mode, Rate& rate) {
  Asker asker(bed, period, mode);
  const Stopwatch watch;
  const double cpu = bench::cpuSeconds();
  while (watch.seconds() < seconds) {
    bed.place(kTurns);
    rate.pods += kTurns;
    if (mode != Forks::None) asker.look();
  }
  rate.wall += watch.seconds();
  rate.cpu += bench::cpuSeconds() - cpu;
  if (mode != Forks::None) asker.finish(rate);
}

Numbers throughput(const Numbers& params) {
  Bed bed(static_cast<int>(params.at("nodes")), static_cast<int>(params.at("pods")));
  bed.place(10 * kBatch);
  Rate alone, shared, each;
  const double period = 1 / params.at("questions_per_second");
  for (int round = 0; round < params.at("rounds"); ++round) {
    run(bed, kPhase, 0, Forks::None, alone);
    run(bed, kPhase, period, Forks::Shared, shared);
    run(bed, kPhase, period, Forks::Each, each);
  }
  const auto wall = [&](const Rate& rate) { return 100 * rate.perSecond() / alone.perSecond(); };
  const auto cpu = [&](const Rate& rate) {
    return 100 * rate.perCpuSecond() / alone.perCpuSecond();
  };
  return {{"alone_pods_per_second", alone.perSecond()},
          {"asked_pods_per_second", shared.perSecond()},
          {"wall_share_percent", wall(shared)},
          {"cpu_share_percent", cpu(shared)},
          {"forks_per_second", shared.forks / shared.wall},
          {"answer_p50_ms", bench::percentile(shared.answers, 0.5)},
          {"answer_p99_ms", bench::percentile(shared.answers, 0.99)},
          {"each_wall_share_percent", wall(each)},
          {"each_cpu_share_percent", cpu(each)},
          {"each_forks_per_second", each.forks / each.wall},
          {"each_answer_p50_ms", bench::percentile(each.answers, 0.5)},
          {"each_answer_p99_ms", bench::percentile(each.answers, 0.99)},
          {"resident_mib", bench::rssMib()},
          {"child_peak_rss_mib", childMib()}};
}

}  // namespace

int main(int argc, char** argv) {
  const Numbers cluster{{"nodes", 5000}, {"pods", 150'000}};
  const auto with = [&](Numbers more) {
    more.insert(cluster.begin(), cluster.end());
    return more;
  };
  const auto timed = [](std::function<Asking(Bed&)> make) {
    return [make = std::move(make)](const Numbers& params) { return timesOf(params, make); };
  };
  return bench::runAll(
      argc, argv,
      {{"WhatIf/onePod", with({{"rounds", 200}}), timed(onePod)},
       {"WhatIf/gangOf512", with({{"rounds", 50}}), timed(gang)},
       {"WhatIf/drain50Nodes", with({{"rounds", 50}}), timed(drain)},
       {"WhatIf/add500Nodes10000Pods", with({{"rounds", 5}}), timed(growth)},
       {"WhatIf/howManyPodsFit", with({{"rounds", 5}}), timed(fill)},
       {"WhatIf/howManyNodesFor10000Pods", with({{"rounds", 5}}), timed(nodesFor)},
       {"WhatIf/throughput", with({{"rounds", 5}, {"questions_per_second", 10}}), throughput}});
}
