#pragma once

// Comparison: a second scheduler beside a replay, with another configuration. It sees the same
// objects and the bindings of the first one at the same time, and makes none itself. Before each
// attempt of the first scheduler it evaluates the pod in the state of that moment, so every
// difference comes from the configuration and none from an earlier difference.
//
// A node is the same decision if the second scheduler gives no node a higher score: among equal
// scores chance decides. Pods are evaluated one by one, without preemption; members of a gang, too.

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/timer_queue.h"
#include "koordctl/replay/mirror_api.h"
#include "scheduler/app/instance.h"
#include "scheduler/recording/replayer.h"

namespace koord::koordctl {

// Executor with the time of a replay.
class FollowingLoop final : public Executor {
 public:
  explicit FollowingLoop(const scheduler::recording::Replayer& clock) : clock_(clock) {}

  WallTime wallNow() const override { return clock_.lastWall(); }
  SteadyTime steadyNow() const override { return clock_.lastSteady(); }
  void post(Callback fn) override { posted_.push_back(std::move(fn)); }
  TimerId runAt(SteadyTime when, Callback fn) override { return timers_.add(when, std::move(fn)); }
  void cancel(TimerId timer) override { timers_.cancel(timer); }
  // Runs what is ready and due.
  void run();

 private:
  const scheduler::recording::Replayer& clock_;
  std::deque<Callback> posted_;
  TimerQueue timers_;
};

class Comparison {
 public:
  // settings: those of the second scheduler.
  Comparison(scheduler::InstanceSettings settings, const scheduler::Registry& registry);
  ~Comparison();

  // The API of the first scheduler, which must not outlive this object.
  kube::Api& attach(kube::Api& api, const scheduler::recording::Replayer& clock);
  // The first scheduler begins an attempt.
  void attempting(const scheduler::PodInfo& pod);
  void decided(const std::string& pod, const scheduler::Decision& decision);

  // Why the second scheduler could not be made; "" if it was.
  const std::string& problem() const { return problem_; }
  const std::string& differences() const { return differences_; }
  std::string summary() const;

 private:
  struct Prediction {
    std::string message;                         // if no node fits
    std::map<std::string, std::int64_t> scores;  // of the nodes that fit
    std::string best;
  };
  using PodObject = scheduler::Scheduler::PodObject;

  void onWrite(const kube::Request& request);
  std::optional<Prediction> predict(const api::ObjectKey& key);
  void compareNode(const std::string& pod, const std::string& node);
  void differ(const std::string& pod, const std::string& what);

  scheduler::InstanceSettings settings_;
  const scheduler::Registry& registry_;
  std::unique_ptr<FollowingLoop> loop_;
  std::unique_ptr<MirrorApi> mirror_;
  std::unique_ptr<TeeApi> tee_;
  scheduler::Metrics metrics_;
  std::unique_ptr<scheduler::Instance> instance_;
  std::map<std::string, Prediction> predictions_;                   // of running attempts, by pod
  std::map<std::string, std::pair<PodObject, PodObject>> imposed_;  // before and after
  std::string problem_;
  std::string differences_;
  std::size_t same_ = 0, elsewhere_ = 0, notPlaced_ = 0, placed_ = 0, unknown_ = 0;
};

}  // namespace koord::koordctl
