#include "koordctl/colocation/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <unordered_map>

#include "koordctl/colocation/node_report.h"
#include "koordctl/colocation/pods.h"
#include "koordctl/trace/scheduled_cluster.h"
#include "model/resources.h"
#include "model/well_known.h"
#include "scheduler/config/types.h"

namespace koord::koordctl::colocation {

namespace {

using namespace std::chrono_literals;

constexpr double kDaySeconds = 86400, kReport = 60;
constexpr int kRoundsAtMost = 12;  // CPU suppress grows by a tenth of the node a round
constexpr std::size_t kMoments = 288;
constexpr const char* kScheduler = "koord-scheduler";

struct Host {
  Machine machine;
  NodeAgent agent;
  Forecaster forecaster;
  double lastWrite = -1e9;
};

class World {
 public:
  World(const Parameters& parameters, const Arm& arm, double days, std::uint64_t seed,
        ScheduledCluster& cluster)
      : parameters_(parameters),
        arm_(arm),
        seed_(seed),
        seconds_(days * kDaySeconds),
        workload_(parameters, seed),
        random_(seed + 1),
        cluster_(cluster) {
    for (std::size_t n = 0; n < static_cast<std::size_t>(parameters.nodes); ++n) {
      const std::string name = nameOfNode(n);
      hostOf_[name] = hosts_.size();
      hosts_.push_back(std::make_unique<Host>(
          Host{Machine(parameters_, name, arm.jobs == JobKind::Requests),
               NodeAgent(parameters_, arm_.node, random_.fork()), Forecaster(parameters_)}));
    }
  }

  static std::string nameOfNode(std::size_t n) { return fmt::format("node-{}", n); }

  Outcome run() {
    placeServices();
    if (arm_.longJobsAreMid) learnYesterday();
    cluster_.onPlaced = [this](const std::string& name) { started(name); };
    cluster_.onPreempted = [this](const std::string& name) { preempted(name); };
    const double step = parameters_.stepSeconds;
    // The load begins as the windows of koordlet fill: nodes report from the first minute on.
    for (double now = 0; now < seconds_; now += step) {
      workload_.moveTo(now);
      for (auto& host : hosts_) advance(*host, step);
      cluster_.advance(std::chrono::milliseconds(static_cast<std::int64_t>(step * 1000)));
      now_ = now + step;
      for (std::size_t n = 0; n < hosts_.size(); ++n) afterStep(*hosts_[n], n);
      submit();
      cluster_.advance({});
      if (now_ >= nextMoment_) takeMoment();
    }
    return finish();
  }

 private:
  void placeServices() {
    const auto& pods = workload_.pods();
    std::vector<std::size_t> placed;
    cluster_.onPlaced = [](const std::string&) {};
    for (std::size_t n = 0; n < pods.size(); ++n)
      cluster_.add(servicePod(parameters_, pods[n], fmt::format("service-{}", n), kScheduler));
    cluster_.advance(1s);
    for (std::size_t n = 0; n < pods.size(); ++n) {
      const std::string name = fmt::format("service-{}", n);
      const std::string node = cluster_.nodeOf(name);
      if (node.empty()) {
        ++outcome_.unplaced;
        cluster_.remove(name);
        continue;
      }
      Host& host = *hosts_[hostOf_.at(node)];
      RunningService service{.index = n,
                             .pod = cluster_.pod(name),
                             .cores = pods[n].cores,
                             .limit = pods[n].cores * parameters_.limitFactor,
                             .measured = Measured(host.machine.windowSteps())};
      host.agent.prepare(service);
      host.machine.addService(std::move(service));
    }
  }

  // Nodes run for a week already: koordlet's models know a day like this one.
  void learnYesterday() {
    Workload yesterday(parameters_, seed_);  // the same services
    const WallTime start = cluster_.clock().wallNow() - 24h;
    for (int minute = 0; minute < 24 * 60; ++minute) {
      yesterday.moveTo(minute * 60.0);
      for (auto& host : hosts_) {
        double cores = 0, gib = 0;
        const auto& services = host->machine.services();
        for (std::size_t n = 0; n < services.size(); ++n) {
          const double used = yesterday.demand(services[n].index);
          const double memory = yesterday.memory(services[n].index);
          host->forecaster.learn(n, used, memory, start + minute * 1min);
          cores += used;
          gib += memory;
        }
        host->forecaster.learnSum(cores, gib, start + minute * 1min);
      }
    }
  }

  void advance(Host& host, double step) {
    Machine& machine = host.machine;
    machine.load(workload_);
    double left = step;
    for (int round = 0; left > 0; ++round) {
      machine.settle(host.agent.ceiling());
      const bool changed =
          round < kRoundsAtMost && (host.agent.suppress(machine) | host.agent.burst(machine));
      const double part = changed ? std::min(parameters_.controlSeconds, left) : left;
      machine.run(part, slowdowns_, random_);
      left -= part;
    }
  }

  void afterStep(Host& host, std::size_t n) {
    Machine& machine = host.machine;
    for (const RunningJob& job : machine.endStep(parameters_.stepSeconds)) {
      outcome_.usefulCoreHours += job.job.coreSeconds / 3600;
      ++outcome_.finished;
      running_.erase(job.pod->metadata.name);
      cluster_.remove(job.pod->metadata.name);
    }
    for (const std::string& name : host.agent.evict(machine, cluster_.clock().steadyNow())) {
      ++outcome_.evictions;
      stop(machine, name);
    }
    const double used = machine.node().cpu.newest(1).front() / parameters_.cores;
    utilisation_.add(used, 1);
    memory_.add(machine.memoryUsed() / parameters_.memoryGib, 1);
    momentCpu_.add(used, 1);
    double services = 0;
    for (const RunningService& service : machine.services()) services += service.used;
    momentServices_.add(services / parameters_.cores, 1);
    const auto minute = static_cast<std::int64_t>(kReport / parameters_.stepSeconds);
    const auto steps = static_cast<std::int64_t>(now_ / parameters_.stepSeconds);
    if (minute <= 1 || (steps + static_cast<std::int64_t>(n)) % minute == 0) report(host);
  }

  void stop(Machine& machine, const std::string& name) {
    const RunningJob stopped = machine.takeJob(name);
    outcome_.wastedCoreHours += (stopped.job.coreSeconds - stopped.left) / 3600;
    running_.erase(name);
    cluster_.remove(name);
    later_[isMid(stopped.job)].push_front(stopped.job);
  }

  // The scheduler has removed the pod already.
  void preempted(const std::string& name) {
    for (auto& host : hosts_) {
      const auto& jobs = host->machine.jobs();
      const auto isIt = [&](const RunningJob& job) { return job.pod->metadata.name == name; };
      if (std::ranges::find_if(jobs, isIt) == jobs.end()) continue;
      ++outcome_.preemptions;
      stop(host->machine, name);
      return;
    }
  }

  void report(Host& host) {
    if (arm_.jobs != JobKind::Batch) return;
    const WallTime wall = cluster_.clock().wallNow();
    std::optional<koordlet::prediction::Forecast> forecast;
    if (arm_.longJobsAreMid) {
      host.forecaster.train(host.machine, wall);
      forecast = host.forecaster.forecast(host.machine);
    }
    const api::NodeMetric metric = nodeMetricOf(parameters_, host.machine, wall, forecast);
    std::vector<std::shared_ptr<const api::Pod>> pods;
    for (const RunningService& service : host.machine.services()) pods.push_back(service.pod);
    for (const RunningJob& job : host.machine.jobs()) pods.push_back(job.pod);
    const auto node = cluster_.node(host.machine.name());
    const bool overdue =
        now_ - host.lastWrite >
        static_cast<double>(arm_.colocation.updateTimeThresholdSeconds.value_or(300));
    if (auto next = withResources(arm_.colocation, *node, metric, pods, wall, overdue)) {
      cluster_.update(next);
      host.lastWrite = now_;
    }
    cluster_.report(metric);
  }

  bool isMid(const Job& job) const { return isMidJob(parameters_, arm_, job); }

  // Keeps the backlogs of batch and of mid jobs full: killed jobs first. Each class has its own, so
  // that jobs which wait for one resource do not keep others from the other.
  void submit() {
    if (arm_.jobs == JobKind::None) return;
    for (const bool mid : {false, true}) {
      if (mid && !arm_.longJobsAreMid) continue;
      const auto backlog = static_cast<std::size_t>(parameters_.backlog);
      while (waiting_[mid] < backlog) submit(nextJob(mid));
    }
  }

  Job nextJob(bool mid) {
    while (later_[mid].empty()) {
      Job job = workload_.nextJob();
      later_[isMid(job)].push_back(job);
    }
    const Job job = later_[mid].front();
    later_[mid].pop_front();
    return job;
  }

  void submit(const Job& job) {
    ++waiting_[isMid(job)];
    const std::string name = fmt::format("job-{}-{}", job.id, submitted_++);
    running_[name] = job;
    cluster_.add(jobPod(parameters_, arm_, job, name, kScheduler));
  }

  void started(const std::string& name) {
    Host& host = *hosts_[hostOf_.at(cluster_.nodeOf(name))];
    const Job& job = running_.at(name);
    --waiting_[isMid(job)];
    host.machine.addJob(cluster_.pod(name), job);
  }

  void takeMoment() {
    Moment moment{now_, momentCpu_.mean(), momentServices_.mean(), 0, 0};
    for (const auto& host : hosts_) {
      const auto node = cluster_.node(host->machine.name());
      for (const std::string_view name : {model::kBatchCpu, model::kMidCpu})
        moment.offered += model::amountOf(node->status.allocatable, name).toDouble() / 1000;
    }
    moment.offered /= parameters_.cores * parameters_.nodes;
    moment.slowdown = slowdowns_.percentile(0.99);
    outcome_.moments.push_back(moment);
    allSlowdowns_.add(slowdowns_);
    slowdowns_ = momentCpu_ = momentServices_ = WeightedHistogram();
    nextMoment_ += seconds_ / kMoments;
  }

  Outcome finish() {
    for (const auto& host : hosts_)
      for (const RunningJob& job : host->machine.jobs())
        outcome_.usefulCoreHours += (job.job.coreSeconds - job.left) / 3600;
    allSlowdowns_.add(slowdowns_);
    outcome_.cpuMean = utilisation_.mean();
    outcome_.cpuP99 = utilisation_.percentile(0.99);
    outcome_.memoryMean = memory_.mean();
    outcome_.slowdownMean = allSlowdowns_.mean();
    outcome_.slowdownP99 = allSlowdowns_.percentile(0.99);
    outcome_.slowdownP999 = allSlowdowns_.percentile(0.999);
    return std::move(outcome_);
  }

  const Parameters& parameters_;
  const Arm& arm_;
  const std::uint64_t seed_;
  const double seconds_;
  Workload workload_;
  Random random_;
  ScheduledCluster& cluster_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::unordered_map<std::string, std::size_t> hostOf_;  // by name
  std::unordered_map<std::string, Job> running_;         // and waiting, by name of the pod
  // By class: batch, mid.
  std::deque<Job> later_[2];         // not submitted yet
  std::size_t waiting_[2] = {0, 0};  // submitted, without a node
  std::uint64_t submitted_ = 0;
  double now_ = 0, nextMoment_ = 0;
  WeightedHistogram slowdowns_, allSlowdowns_, utilisation_, memory_, momentCpu_, momentServices_;
  Outcome outcome_;
};

}  // namespace

Result<Outcome> runWorld(const Parameters& parameters, const Arm& arm, double days,
                         std::uint64_t seed) {
  const auto configuration =
      scheduler::parseConfiguration(scheduler::shippedConfiguration({kScheduler}, arm.scheduler));
  if (!configuration) return fail(configuration.error());
  ScheduledCluster::Objects objects;
  for (std::size_t n = 0; n < static_cast<std::size_t>(parameters.nodes); ++n)
    objects.nodes.push_back(nodeObject(parameters, World::nameOfNode(n)));
  auto cluster = ScheduledCluster::create(*configuration, objects, seed);
  if (!cluster) return fail(cluster.error());
  return World(parameters, arm, days, seed, **cluster).run();
}

}  // namespace koord::koordctl::colocation
