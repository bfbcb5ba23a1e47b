#pragma once

// Starts: when pods, gangs and the pods of quotas start.
//
// It plays kCourses courses (timeline.h), each in a copy of the process of its own, because a
// course cannot be undone; up to four at once, if there are CPUs for them. Each draws the ends
// of pods at random, with fixed seeds. The bounds are quantiles of the starts. Why not three
// courses, in which all pods end early, as expected, or late: the start depends on the first of
// many ends, or on the last of some, and pods do not all end late at once. The bounds of such
// courses are far too wide, and their middle is not the median of the starts.
//
// If the true course were one of n + 1 that are drawn alike, it would lie between the i-th smallest
// and the i-th largest of n with probability (n + 1 - 2i) / (n + 1). With 19 courses and i = 2 that
// is 80 %; `interval` has the number for fewer courses.
//
// There is no estimate if the start is beyond all known ends in one of the courses that the bounds
// need, or if fewer than kFewestCourses were played in time. If an end on the start's node is known
// from a deadline only, the start may be at any time until then: there is only a latest time.
//
// Not foretold: pods that are created later, other than those that Jobs of the question still have
// to create; nodes that come or go; Reservations that expire.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/oracle/course.h"
#include "scheduler/oracle/forked.h"
#include "scheduler/oracle/starts/run_table.h"
#include "scheduler/oracle/starts/targets.h"

namespace koord::scheduler::oracle {

class Timeline;

class Starts {
 public:
  static constexpr int kFewestCourses = 5;

  // On a course whose changes have been made. history may be nullptr.
  Starts(Course& course, SeamExecutor& executor, const StartsQuestion& question,
         const forecast::RunHistory* history);

  // Called between courses, and in each; true: the time is over.
  std::function<bool()> isLate;

  void run();
  // True if all courses were played, or none was needed.
  bool isComplete() const;
  // Of the courses that were played until now:
  //
  //   courses, interval
  //   estimates: [{kind, namespace, name, state, pods, placed, node, message,
  //                lastMessage,   # the scheduler's, for a pod that does not start
  //                next: {earliest, likely, latest},   # seconds from status.state.time
  //                all: {...},                         # of a quota or gang: its last pod
  //                runs: [{namespace, kind, name, pods, nodes, runs, shortest, median, longest}],
  //                unknown: [{namespace, name, node}], unknownPods}]
  //
  // state: estimated; latestOnly; none: nothing can be said, for the reason in message; running:
  // no pod waits; notFound.
  json::object describe() const;

 private:
  struct Outcome {
    std::vector<std::optional<Started>> starts;  // by asked pod
    std::vector<std::string> messages;           // likewise
    std::vector<json::value> unknown;            // likewise
  };
  std::string playCourse(int number) const;
  // Waits for a course. False: there will be no others.
  bool take(Result<ForkedAnswer> forked);
  std::optional<Outcome> readOutcome(const json::value& text) const;
  json::object describeTarget(std::size_t target) const;
  std::pair<const char*, const char*> settledState(std::size_t target) const;
  const char* whyTooFew() const;
  void addEstimate(json::object& out, std::size_t target) const;
  void addRefusal(json::object& out, std::size_t position) const;
  json::array describeRuns(const std::vector<const Started*>& starts) const;
  bool isExample(std::size_t position) const;
  json::object endlessBefore(const Timeline& timeline, const api::Pod& pod) const;

  Course& course_;
  SeamExecutor& executor_;
  const StartsQuestion& question_;
  RunTable table_;
  std::vector<TargetPods> targets_;
  std::vector<PodPtr> asked_;
  std::vector<std::vector<std::size_t>> positions_;  // of a target's pods in asked_
  std::vector<Outcome> outcomes_;
  bool late_ = false;
  std::string problem_;
};

}  // namespace koord::scheduler::oracle
