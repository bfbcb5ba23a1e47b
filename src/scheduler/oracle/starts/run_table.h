#pragma once

// RunTable: what is known about the ends of the pods that run, and of those that will run. One
// table serves all courses of a question; each draws its own ends from it.
//
// A course has a number. The draws of one pod in all courses are stratified: of K courses, each has
// another K-th of the pod's distribution, in an order that depends on the pod. Members of a gang
// end together, so they have the same draw. The distribution of a workload is itself drawn for each
// course (RunModel::variant): else the sum of many runs of a workload that is little known would
// look certain.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/core/scheduler.h"
#include "scheduler/forecast/run_history.h"
#include "scheduler/oracle/starts/starts_question.h"

namespace koord::scheduler::oracle {

// Prime, so that every step from 1 is a permutation.
inline constexpr int kCourses = 19;

// From what an end is known.
enum class Basis { None, Runs, Deadline, Deletion };

struct RunningPod {
  api::ObjectKey key;
  std::string uid;
  std::string node;
  std::string job;              // uid of the controlling Job; "" = none
  int workload = -1;            // in workloads(); -1 = none
  double elapsed = 0;           // seconds
  std::optional<double> limit;  // seconds from now until a deadline or the end of a deletion
  bool isLeaving = false;       // it is being deleted
  bool belongsToNode = false;   // of a DaemonSet or a static manifest
  std::uint64_t unit = 0;       // of its draws
};

struct KnownWorkload {
  forecast::Workload workload;
  forecast::RunModel model;
};

// Where and when an asked pod starts in a course.
struct Started {
  double at = 0;  // seconds from now
  std::string node;
  std::vector<int> ended;   // pods of the table that ended on the node before; at most 50
  bool byDeadline = false;  // one of the ends on the node is known from its deadline only
};

class RunTable {
 public:
  // history may be nullptr.
  RunTable(const Scheduler& scheduler, const forecast::RunHistory* history,
           const StartsQuestion& question, WallTime now);

  const std::vector<RunningPod>& running() const { return running_; }  // by key
  const std::vector<KnownWorkload>& workloads() const { return workloads_; }
  const std::map<std::string, std::int64_t>& podsOfJobs() const { return podsOfJobs_; }

  // A pod that starts in a course, with no time elapsed. `at`: seconds from now.
  RunningPod begun(const api::Pod& pod, std::string node, double at) const;

  // The distributions of the workloads in this course.
  std::vector<forecast::RunModel> modelsOf(int course) const;
  // Seconds from its start (or from now, if it runs) until its end in the course; nullopt: nothing
  // is known.
  struct End {
    double in = 0;
    Basis basis = Basis::None;
  };
  std::optional<End> endOf(const RunningPod& pod, int course,
                           const std::vector<forecast::RunModel>& models) const;

 private:
  RunningPod describe(const api::Pod& pod, std::string node) const;
  int indexOf(const forecast::Workload& workload) const;

  const StartsQuestion& question_;
  const WallTime now_;
  std::vector<RunningPod> running_;
  std::vector<KnownWorkload> workloads_;
  std::map<forecast::Workload, int> index_;
  std::map<std::string, std::int64_t> podsOfJobs_;  // of the question: placed or waiting, by uid
};

}  // namespace koord::scheduler::oracle
