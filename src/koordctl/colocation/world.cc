#include "koordctl/colocation/world.h"

#include <fmt/format.h>

#include <algorithm>
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
constexpr const char* kScheduler = "koord-scheduler";

struct Host {
  Host(const Parameters& parameters, const Arm& arm, NodeSize size, Random random)
      : machine(parameters, std::move(size), arm.jobs == JobKind::Requests),
        agent(parameters, arm.node, machine.size(), random),
        forecaster(parameters, machine.size()) {}
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  Machine machine;
  NodeAgent agent;
  Forecaster forecaster;
  double lastWrite = -1e9;
};

class World {
 public:
  World(const Site& site, const Parameters& parameters, const Arm& arm, double days,
        std::uint64_t seed, ScheduledCluster& cluster)
      : site_(site),
        parameters_(parameters),
        arm_(arm),
        seconds_(days * kDaySeconds),
        loads_(seed),
        queue_(parameters, site.jobs, arm.longJobsAreMid, loads_.fork()),
        load_(site.load(loads_)),
        random_(~seed),  // never the loads of another seed
        cluster_(cluster),
        recorder_(site.cores(), site.nodes.size(), seconds_) {
    for (const NodeSize& size : site.nodes) {
      hostOf_[size.name] = hosts_.size();
      hosts_.push_back(std::make_unique<Host>(parameters_, arm_, size, random_.fork()));
    }
  }

  Outcome run() {
    placeServices();
    if (arm_.longJobsAreMid) learnYesterday();
    cluster_.onPlaced = [this](const std::string& name) { started(name); };
    cluster_.onPreempted = [this](const std::string& name) { preempted(name); };
    const double step = parameters_.stepSeconds;
    // The load begins as the windows of koordlet fill: nodes report from the first minute on.
    for (double now = 0; now < seconds_; now += step) {
      load_->moveTo(now);
      for (auto& host : hosts_) advance(*host, step);
      // Machines are at the end of the step; now the cluster follows. A job that gets a node there
      // runs from the next step on; a job that is preempted has run in this step.
      cluster_.advance(std::chrono::milliseconds(static_cast<std::int64_t>(step * 1000)));
      now_ = now + step;
      for (std::size_t n = 0; n < hosts_.size(); ++n) afterStep(*hosts_[n], n);
      submit();
      cluster_.advance({});
      if (recorder_.momentIsDue(now_)) recorder_.takeMoment(now_, offered());
    }
    for (const auto& host : hosts_)
      for (const RunningJob& job : host->machine.jobs()) recorder_.jobStillRuns(job);
    return recorder_.finish();
  }

 private:
  void placeServices() {
    const auto& pods = load_->pods();
    cluster_.onPlaced = [](const std::string&) {};
    for (std::size_t n = 0; n < pods.size(); ++n)
      cluster_.add(servicePod(pods[n], fmt::format("service-{}", n), cluster_.profile()));
    cluster_.advance(1s);
    for (std::size_t n = 0; n < pods.size(); ++n) {
      const std::string name = fmt::format("service-{}", n);
      const std::string node = cluster_.nodeOf(name);
      if (node.empty()) {
        recorder_.serviceUnplaced();
        cluster_.remove(name);
        continue;
      }
      Host& host = *hosts_[hostOf_.at(node)];
      RunningService service{.index = n,
                             .pod = cluster_.pod(name),
                             .cores = pods[n].cores,
                             .memoryGib = pods[n].memoryGib,
                             .limit = pods[n].limit,
                             .exclusive = pods[n].qos == "LSE",
                             .measured = Measured(host.machine.windowSteps())};
      host.agent.prepare(service);
      host.machine.addService(std::move(service));
    }
  }

  // Nodes run for a week already: koordlet's models know a day like this one.
  void learnYesterday() {
    const auto yesterday = site_.load(loads_);  // the same services
    const WallTime start = cluster_.clock().wallNow() - 24h;
    for (int minute = 0; minute < 24 * 60; ++minute) {
      yesterday->moveTo(minute * 60.0);
      for (auto& host : hosts_) {
        double cores = 0, gib = 0;
        const auto& services = host->machine.services();
        for (std::size_t n = 0; n < services.size(); ++n) {
          const double used = yesterday->demand(services[n].index);
          const double memory = yesterday->memory(services[n].index);
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
    machine.load(*load_);
    for (double left = step; left > 0;) {
      machine.settle(host.agent.ceiling());
      const bool again = host.agent.suppress(machine) | host.agent.burst(machine);
      const double part = again ? std::min(parameters_.controlSeconds, left) : left;
      machine.run(part, recorder_.slowdowns(), random_);
      left -= part;
    }
    for (const RunningJob& job : machine.endStep(step)) {
      recorder_.jobFinished(job);
      forget(job);
    }
  }

  void afterStep(Host& host, std::size_t n) {
    Machine& machine = host.machine;
    for (const std::string& name : host.agent.evict(machine, cluster_.clock().steadyNow())) {
      const RunningJob job = machine.takeJob(name);
      recorder_.jobKilled(job);
      queue_.killed(job.job);
      forget(job);
    }
    recorder_.stepEnded(machine);
    const auto minute = static_cast<std::int64_t>(kReport / parameters_.stepSeconds);
    const auto steps = static_cast<std::int64_t>(now_ / parameters_.stepSeconds);
    if (minute <= 1 || (steps + static_cast<std::int64_t>(n)) % minute == 0) report(host);
  }

  void forget(const RunningJob& job) {
    const std::string& name = job.pod->metadata.name;
    submitted_.erase(name);
    cluster_.remove(name);
  }

  // The scheduler has removed the pod already.
  void preempted(const std::string& name) {
    const auto found = submitted_.find(name);
    if (found == submitted_.end() || !found->second.host) return;
    const RunningJob job = found->second.host->machine.takeJob(name);
    recorder_.jobPreempted(job);
    queue_.killed(job.job);
    forget(job);
  }

  void report(Host& host) {
    if (arm_.jobs != JobKind::Batch) return;
    const WallTime wall = cluster_.clock().wallNow();
    std::optional<koordlet::prediction::Forecast> forecast;
    if (arm_.longJobsAreMid) {
      host.forecaster.train(host.machine, wall);
      forecast = host.forecaster.forecast(host.machine);
    }
    const api::NodeMetric metric = nodeMetricOf(host.machine, wall, forecast);
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

  void submit() {
    if (arm_.jobs == JobKind::None) return;
    while (const auto job = queue_.next()) {
      const std::string name = fmt::format("job-{}", names_++);
      submitted_[name] = {*job, nullptr};
      cluster_.add(jobPod(arm_.jobs, *job, name, cluster_.profile()));
    }
  }

  void started(const std::string& name) {
    Submitted& submitted = submitted_.at(name);
    submitted.host = hosts_[hostOf_.at(cluster_.nodeOf(name))].get();
    submitted.host->machine.addJob(cluster_.pod(name), submitted.job);
    queue_.started(submitted.job);
  }

  // Cores of batch and mid CPU on all nodes.
  double offered() const {
    double cores = 0;
    for (const auto& host : hosts_) {
      const auto node = cluster_.node(host->machine.name());
      for (const std::string_view name : {model::kBatchCpu, model::kMidCpu})
        cores += model::amountOf(node->status.allocatable, name).toDouble() / 1000;
    }
    return cores;
  }

  struct Submitted {
    Job job;
    Host* host;  // nullptr while the job waits
  };

  const Site& site_;
  const Parameters& parameters_;
  const Arm& arm_;
  const double seconds_;
  Random loads_;  // of the load, at its start
  JobQueue queue_;
  std::unique_ptr<Load> load_;
  Random random_;
  ScheduledCluster& cluster_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::unordered_map<std::string, std::size_t> hostOf_;   // by name of the node
  std::unordered_map<std::string, Submitted> submitted_;  // by name of the pod
  std::uint64_t names_ = 0;
  double now_ = 0;
  Recorder recorder_;
};

}  // namespace

Result<Outcome> runWorld(const Site& site, const Parameters& parameters, const Arm& arm,
                         double days, std::uint64_t seed) {
  const auto configuration = arm.configuration
                                 ? Result<scheduler::SchedulerConfiguration>(*arm.configuration)
                                 : scheduler::parseConfiguration(scheduler::shippedConfiguration(
                                       {kScheduler}, arm.scheduler));
  if (!configuration) return fail(configuration.error());
  ScheduledCluster::Objects objects;
  for (const NodeSize& size : site.nodes) objects.nodes.push_back(nodeObject(size));
  auto cluster = ScheduledCluster::create(*configuration, objects, seed);
  if (!cluster) return fail(cluster.error());
  return World(site, parameters, arm, days, seed, **cluster).run();
}

}  // namespace koord::koordctl::colocation
