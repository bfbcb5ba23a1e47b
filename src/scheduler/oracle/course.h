#pragma once

// Course: what happens in a scheduler after some changes, on virtual time and without surroundings.
// It makes the changes of a question on a scheduler that a seam has cut off, lets the scheduler's
// own code run (queue, searches, gangs, preemption, bindings), and notes what becomes of the pods.
//
// The course ends when every asked pod has a node, or was rejected and waits for no victims. If
// resources became free (nodes were added, pods left), it also waits for pods that were
// pending before and are tried again. Backoffs and timeouts pass on virtual time, at most kHorizon.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "scheduler/core/scheduler.h"
#include "scheduler/oracle/expand.h"
#include "scheduler/oracle/scratch_server.h"
#include "scheduler/oracle/seam.h"

namespace koord::scheduler::oracle {

inline constexpr Duration kHorizon = std::chrono::seconds(60);

// Complete pods, by uid: the scheduler keeps less of those on nodes (framework/slim_pod.h).
using CompletePods = std::unordered_map<std::string, std::shared_ptr<const api::Pod>>;

struct FollowedPod {
  enum class State { NotTried, Placed, Pending, NotRecreated };
  api::ObjectKey key;
  std::string uid;
  std::string of;    // the workload in the question; "" = none
  std::string from;  // the node that it left; "" = a new pod
  State state = State::NotTried;
  std::string node;       // Placed
  std::string nominated;  // where pods left for it; "" = nowhere
  std::string message;    // of all states but Placed
  int attempts = 0;
  // What the first attempt decided: its node, or where pods left for it.
  std::string firstNode, firstNominated;
};

struct Departure {
  api::ObjectKey key;
  std::string node;
  api::ObjectKey preemptor;
  std::string plugin;  // whose rules chose it
  std::int32_t priority = 0;
  std::int32_t preemptorPriority = 0;
};

class Course {
 public:
  Course(Scheduler& scheduler, SeamExecutor& executor, ScratchServer& server);
  ~Course();

  // Called before every attempt, and between turns; it need not return. May be empty.
  std::function<void()> checkpoint;

  // Makes the changes. `pods`: complete copies of the pods on nodes that are drained or lost. The
  // error names the field. Call it once.
  Result<> change(const Question& question, Expansion expansion, const CompletePods& pods);
  // Until every pod is settled. It may be called again after add().
  void run();
  // Creates one more pod.
  void add(AskedPod asked);
  // Deletes such pods, and runs what is ready.
  void remove(std::span<const std::string> uids);
  // Adds nodes of this shape.
  void addNodes(const api::Node& pattern, std::int64_t count);

  const std::vector<FollowedPod>& pods() const { return pods_; }
  const std::vector<Departure>& departures() const { return departures_; }
  // Other pods that were pending before and have a node now.
  const std::vector<FollowedPod>& others() const { return others_; }
  const std::vector<std::string>& notes() const { return notes_; }
  std::uint64_t leftOut() const { return leftOut_; }
  Scheduler& scheduler() { return scheduler_; }
  ScratchServer& server() { return server_; }

 private:
  Result<> addNewNodes(const NewNodes& nodes);
  Result<> addNode(const json::value& document);
  Result<> clear(const std::vector<std::string>& names, const char* field,
                 const CompletePods& pods);
  void move(const PodPtr& pod, const std::string& node, const CompletePods& pods);
  // Runs what is ready, without moving time.
  void settle();
  enum class When { Now, NextTurn };
  void create(std::shared_ptr<api::Pod> pod, FollowedPod followed, When when);
  void follow(FollowedPod followed);
  void decided(const std::string& key, const Decision& decision);
  PodPtr pendingOf(const std::string& uid) const;
  void settleHeld();
  void describeOpen();
  bool settled() const;

  Scheduler& scheduler_;
  SeamExecutor& executor_;
  ScratchServer& server_;
  std::vector<FollowedPod> pods_;
  std::unordered_map<std::string, std::size_t> byUid_;      // of pods_
  std::unordered_map<std::string, std::string> attempted_;  // uids, by the decision log's key
  std::set<std::string> open_;                              // uids that are not settled
  std::vector<FollowedPod> others_;
  std::vector<Departure> departures_;
  std::vector<std::string> notes_;
  std::uint64_t leftOut_ = 0;
  std::uint64_t made_ = 0;  // uids
  int staying_ = 0;         // Reservations on the nodes of a list
  int incomplete_ = 0;      // pods on them whose complete spec is not known
  bool freed_ = false;      // pods that were pending before may find a node
};

}  // namespace koord::scheduler::oracle
