#pragma once

// A simulated node: the pods that run on it, what CPU they get (machine_model.h), and what koordlet
// measures. It has no strategies; node_agent.h sets quotas and the ceiling of batch jobs.
//
// Services have priority over batch jobs, as CPU shares give it: jobs get what services leave, up
// to their ceiling, in proportion to what they want. If services want more than all CPUs, each gets
// the same share of its demand.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/pod.h"
#include "koordctl/colocation/job_queue.h"
#include "koordctl/colocation/load.h"
#include "koordctl/colocation/machine_model.h"
#include "koordctl/colocation/site.h"
#include "koordctl/colocation/statistics.h"

namespace koord::koordctl::colocation {

// The mean of the last values.
class Window {
 public:
  explicit Window(std::size_t size) : size_(size) {}
  void add(double value);
  double mean() const { return values_.empty() ? 0 : sum_ / static_cast<double>(values_.size()); }
  // The newest values, oldest first.
  std::vector<double> newest(std::size_t count) const;
  std::size_t count() const { return values_.size(); }

 private:
  std::size_t size_, head_ = 0;
  std::vector<double> values_;
  double sum_ = 0;
};

// What all pods of a node have measured: CPU in cores, memory in GiB, over the last five minutes.
struct Measured {
  explicit Measured(std::size_t window) : cpu(window), memory(window) {}
  Window cpu, memory;
  double coreSeconds = 0;  // in this step
};

struct RunningService {
  std::size_t index = 0;  // of the workload
  std::shared_ptr<const api::Pod> pod;
  double cores = 0;             // requested
  double memoryGib = 0;         // requested
  double limit = 0;             // cores; 0 = none
  bool exclusive = false;       // LSE: batch pods never run on its CPUs
  std::int64_t baseQuota = -1;  // us in 100 ms; -1 = none
  std::int64_t quota = -1;
  double savedPeriods = 0;  // of quota (CPU burst)
  double demand = 0, memory = 0;
  bool counts = true;  // for the slowdown
  double used = 0;
  Throttling throttling;
  Measured measured;
};

struct RunningJob {
  std::shared_ptr<const api::Pod> pod;
  Job job;
  double left = 0;              // core seconds of work
  std::int64_t batchMilli = 0;  // requested batch CPU
  double used = 0;
  Measured measured;
};

// What batch jobs may use together.
struct Ceiling {
  bool byQuota = false;
  double cores = 0;
  bool operator==(const Ceiling&) const = default;
};

class Machine {
 public:
  Machine(const Parameters& parameters, NodeSize size, bool equalWeight);

  const std::string& name() const { return size_.name; }
  const NodeSize& size() const { return size_; }
  std::vector<RunningService>& services() { return services_; }
  const std::vector<RunningService>& services() const { return services_; }
  const std::vector<RunningJob>& jobs() const { return jobs_; }
  void addService(RunningService service) { services_.push_back(std::move(service)); }
  void addJob(std::shared_ptr<const api::Pod> pod, const Job& job);
  // Removes the job and returns it; its work so far is lost. The name must be that of a job here.
  RunningJob takeJob(const std::string& pod);

  // Takes the services' demand of this step.
  void load(const Load& load);
  // Recomputes what every pod uses.
  void settle(const Ceiling& ceiling);
  // Lets that much time pass. Adds the slowdowns of requests to the histogram.
  void run(double seconds, WeightedHistogram& slowdowns, Random& random);
  // Ends a step of that length: what was used becomes a sample. Returns the jobs that have finished
  // and removes them.
  std::vector<RunningJob> endStep(double seconds);

  // Now, in cores and GiB.
  double cpuUsed() const { return serviceCores_ + batchCores_ + size_.systemCores; }
  double servicesUsed() const { return serviceCores_; }
  double memoryUsed() const;
  const Measured& node() const { return node_; }
  std::size_t windowSteps() const { return windowSteps_; }

 private:
  const Parameters& parameters_;
  NodeSize size_;
  bool equalWeight_;
  std::size_t windowSteps_;
  std::vector<RunningService> services_;
  std::vector<RunningJob> jobs_;
  Measured node_;
  double serviceCores_ = 0, batchCores_ = 0, batchWanted_ = 0;
  Delays delays_;
};

}  // namespace koord::koordctl::colocation
