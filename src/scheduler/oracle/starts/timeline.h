#pragma once

// Timeline: one course of what happens until certain pods start. Running pods end when a RunTable
// says so, the scheduler itself places what waits, and what starts ends in turn. A Job that has
// completions left gets another pod for each that ends.
//
// After an end, time moves from timer to timer for as long as backoffs last. From there to the next
// end, which may be hours away, it moves in large steps, in which each timer that is due fires
// once: else thousands of periodic timers would fire without a change in between. The caller holds
// the wall clock (SeamExecutor::holdWall), because load reports and Reservations of now would soon
// count as old, and nothing renews them.
//
// The course ends when all asked pods have started, when no known end is left, or when `checkpoint`
// of the Course says so.

#include <functional>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "scheduler/oracle/course.h"
#include "scheduler/oracle/starts/run_table.h"

namespace koord::scheduler::oracle {

class Timeline {
 public:
  // They must outlive it. asked: uids.
  Timeline(Course& course, SeamExecutor& executor, const StartsQuestion& question,
           const RunTable& table, int number, std::set<std::string> asked);
  ~Timeline();

  void play();
  // Of the asked pods, by uid.
  const std::map<std::string, Started>& started() const { return started_; }
  // The scheduler's last message for an asked pod; "" if it was not tried.
  std::string messageOf(const std::string& uid) const;
  // True if the pod runs now, or began in the course, and nothing is known about its end.
  bool isEndless(const std::string& uid) const { return endless_.contains(uid); }

 private:
  struct End {
    double at = 0;
    std::uint64_t number = 0;  // of equal times, the first
    std::string uid;
    std::string job;
    std::string node;
    int index = -1;  // in the table; -1: it began in the course
    Basis basis = Basis::None;
  };
  struct Later {
    bool operator()(const End& a, const End& b) const {
      return std::tie(a.at, a.number) > std::tie(b.at, b.number);
    }
  };
  double now() const;
  bool isOver() const { return asked_.empty(); }
  void expect(const RunningPod& pod, int index, double begun);
  void end(const End& end);
  void replace(const std::string& job, const api::Pod& ended);
  void lowerLoad(const api::Pod& pod, const std::string& node);
  void noteStarts();
  // Lets the scheduler work for so many seconds at most.
  void settle(double seconds);

  Course& course_;
  SeamExecutor& executor_;
  Scheduler& scheduler_;
  const StartsQuestion& question_;
  const RunTable& table_;
  const int number_;
  const std::vector<forecast::RunModel> models_;
  const SteadyTime begun_;
  std::set<std::string> asked_;  // that have not started
  std::map<std::string, Started> started_;
  std::priority_queue<End, std::vector<End>, Later> ends_;
  std::uint64_t made_ = 0;
  struct JobState {
    std::int64_t pods = 0;
    std::int64_t succeeded = 0;
  };
  std::map<std::string, JobState> jobs_;
  std::set<std::string> endless_;
  std::map<std::string, std::vector<std::pair<int, Basis>>> endedOn_;  // by node
  std::map<std::string, std::string> uids_;              // by key, of pods that are tried
  std::vector<std::string> placed_;                      // keys, since the last noteStarts()
  std::map<std::string, std::string> messages_;          // of asked pods, by uid
  std::function<void(const PodInfo&, int)> attempting_;  // the hooks of the Course
  std::function<void(const std::string&, const Decision&)> decided_;
};

}  // namespace koord::scheduler::oracle
