#pragma once

// Shadow: decides beside another scheduler, the incumbent, and compares (koord-scheduler
// --shadow-of NAME). The Scheduler that it uses is never started: it only keeps the state.
//
// A decision of the incumbent is an update of a pod of its name: the pod gets a node, or the
// condition PodScheduled=False, Unschedulable, perhaps with a nominated node. Before the Scheduler
// takes this update, the shadow decides for the same pod on the same state, in a transaction that
// is rolled back, and compares (choice.h). Then the update is counted, and the shadow follows the
// incumbent's choice.
//
// Schedulers bind later than they decide. If the shadow differs, it decides again on states a
// moment earlier (recent_changes.h), and again when the moment has passed, because bindings of
// earlier decisions may still arrive. If it agrees on one of these states, that is counted as
// nearbyState. Everything else is a difference, which the report shows with both reasons.
//
// What it cannot know: the order of the incumbent's random choices (ties count as agreement), what
// HTTP extenders answer (skipped), and what a claim that the incumbent has bound before the pod
// would have allowed otherwise (volumes and resource claims restrict the shadow to that node).
//
// It sees what the API server tells, which may be late: while a watch lags, after an outage, and
// where the incumbent writes later than it decides. States have changed then, so what arrives more
// than `lag` after it happened is skipped, counted and logged. Creations and bindings, whose time
// the API server writes, say how late the watch is.
//
// Memory: a number for each waiting pod, the last differences, and the changes and results of a
// moment. Time:
// at most `share` percent of a second for a comparison with all its decisions, and of all time;
// what does not fit is skipped, counted and logged.
//
// On the scheduler's thread.

#include <deque>
#include <string>
#include <unordered_map>

#include "scheduler/shadow/decider.h"
#include "scheduler/shadow/footprint.h"
#include "scheduler/shadow/read_only_api.h"
#include "scheduler/shadow/recent_changes.h"
#include "scheduler/shadow/shadow_metrics.h"
#include "scheduler/shadow/work_budget.h"

namespace koord::scheduler {

struct ShadowOptions {
  std::string incumbent;          // spec.schedulerName of its pods; "" = no shadow
  std::size_t differences = 500;  // the last ones that are kept
  int share = 50;                 // most percent of the time for decisions
  Duration moment = std::chrono::seconds(1);
  Duration lag = std::chrono::seconds(5);  // of what is compared, at most; 0 = any
};

// The configuration of a shadow. If a profile has the incumbent's name, its other profiles are the
// incumbent's too and stay, because their pods' nominations count; else only the first profile
// stays, under this name. All nodes are scored, and no lease is taken.
SchedulerConfiguration shadowConfiguration(SchedulerConfiguration configuration,
                                           const std::string& incumbent);

class Shadow {
 public:
  // What informers keep of pods for it.
  static constexpr PodFields kPodFields = field::kScheduledAt;

  // The scheduler has shadowConfiguration(). Arguments must outlive it.
  Shadow(ShadowOptions options, Scheduler& scheduler, Executor& executor, const ReadOnlyApi& api);
  ~Shadow();
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  // Everything has been listed: decisions are compared from now on.
  void start();

  json::value report() const;
  std::string metricsText() const { return metrics_.text(api_.refused()); }
  const ShadowMetrics& metrics() const { return metrics_; }

 private:
  using PodObject = Scheduler::PodObject;
  struct Seen {
    std::uint64_t number = 0;
    SteadyTime at{};
    bool created = false;  // after start()
  };
  // A pod with the incumbent's choice.
  struct Question {
    PodPtr pod;
    Choice incumbent;
    RecentChanges::Place place;
    bool group = false;  // waits with its group
  };
  struct Difference {
    WallTime time{};
    Match match = Match::WorseScore;
    Question question;
    Choice shadow;
    NodeJudgement judgement;                 // if both place the pod
    std::optional<Footprint> left, instead;  // by the incumbent's node and the shadow's
    SteadyTime since{};
  };

  void podChanging(const PodObject& before, const PodObject& after);
  void appeared(const PodObject& pod);
  void ended(const PodObject& pod);
  void bound(const PodObject& before, const PodObject& after, bool late);
  void waited(const PodObject& before, const PodObject& after, bool late);
  // True if the change arrives too late to be compared.
  bool noteLag(const PodObject& before, const PodObject& after);
  PodPtr pendingPod(const std::string& uid) const;
  Question questionFor(const PodObject& pod, Choice incumbent);

  void compare(Question question);
  std::optional<Match> compareNow(const Question& question, Choice& ours);
  Choice decide(const Question& question, bool favor);
  bool same(const Question& question, const Choice& ours);
  bool agreesNow(const Question& question) { return same(question, decide(question, true)); }
  bool agreesNearby(const Question& question, SteadyTime since);
  // The comparison that runs has used up the budget.
  bool outOfTime() const { return executor_.steadyNow() >= budget_.end(); }
  Difference describe(Question question, Choice ours);
  NodeId nodeOf(const Choice& choice);
  void settle();
  void settleAgreements(SteadyTime now);
  void finish(Difference difference);
  std::optional<Match> checkAgain(const Difference& difference);
  void wakeInTime();
  void record(Difference difference);
  void fellBehind(Skip why);
  json::value gains() const;

  const ShadowOptions options_;
  Scheduler& scheduler_;
  Executor& executor_;
  const ReadOnlyApi& api_;
  Decider decider_;
  ShadowMetrics metrics_;
  WorkBudget budget_;
  RecentChanges changes_;
  std::unordered_map<std::string, Seen> seen_;  // waiting pods of any scheduler, by uid
  std::uint64_t pods_ = 0;
  struct Agreement {
    Match match = Match::SameNode;
    SteadyTime since{};
  };
  std::deque<Difference> open_;          // may still turn out to be nearby
  std::deque<Agreement> agreed_;         // may still turn out to be of an incomplete state
  std::deque<json::value> differences_;  // oldest first
  struct Gains {
    std::uint64_t placements = 0;  // that differ
    double cpuCores = 0;           // of the largest free block, per placement summed
    std::int64_t gpuBlock = 0, gpus = 0;
    double spread = 0;
    std::uint64_t preemptions = 0;
  } gains_;
  WallTime startedAt_{};
  bool started_ = false;
  Duration lag_{};                         // of the last creation or binding
  SteadyTime lateAt_ = SteadyTime::min();  // the last time that it was above the limit
  SteadyTime tellAgain_{};
  TimerId timer_ = 0;
};

}  // namespace koord::scheduler
