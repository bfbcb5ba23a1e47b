#pragma once

// ReservationController: writes the status of reservations, ends them and deletes those that ended
// long ago.
//
// It syncs a reservation when its object, its owners or its node change, and when it expires. The
// status follows from the ledger; a write that would not change the object is skipped.

#include <map>
#include <set>
#include <string>

#include "kube/work_queue.h"
#include "scheduler/framework/handle.h"
#include "scheduler/plugins/reservation/args.h"
#include "scheduler/plugins/reservation/reservation_index.h"

namespace koord::scheduler {

class ReservationController {
 public:
  ReservationController(Handle& handle, ReservationIndex& index, const ReservationArgs& args);
  ~ReservationController();
  ReservationController(const ReservationController&) = delete;
  ReservationController& operator=(const ReservationController&) = delete;

  // Runs until the controller is destroyed.
  Task<void> run();

 private:
  Task<Result<>> sync(std::string uid);
  Task<Result<>> end(ReservationPtr entry);
  Task<Result<>> reportInvalid(ReservationPtr entry);
  // Removes the annotation of a deleted reservation from the pods that still have it.
  Task<Result<>> release(std::string uid);
  Task<void> collectGarbage();
  void enqueue(const std::string& uid);
  bool lostNode(const api::Reservation& reservation) const;
  bool isGarbage(const api::Reservation& reservation) const;
  void reportProblems(const ReservationEntry& entry);
  // Schedules a sync for the time when the reservation expires; nullopt if it does not expire.
  void expectEnd(const std::string& uid, std::optional<WallTime> at);
  void arm();

  Handle& handle_;
  Cluster& cluster_;
  Executor& executor_;
  ReservationIndex& index_;
  const ReservationArgs args_;
  kube::WorkQueue queue_;
  std::set<std::pair<WallTime, std::string>> ends_;
  std::map<std::string, WallTime> endOf_;
  std::map<std::string, std::string> reported_;  // reported problems, by uid
  TimerId timer_ = 0;
};

// When a reservation expires; nullopt if never, an error if the time cannot be parsed. `expires`
// has precedence over `ttl`; a ttl of 0 means never.
Result<std::optional<WallTime>> endOf(const api::Reservation& reservation);

// The status according to the ledger; nullopt if the object already has it. Pods count once they
// are seen as bound.
std::optional<json::object> usedStatus(const Cluster& cluster, const ReservationEntry& entry,
                                       const api::Reservation& reservation, WallTime now);

}  // namespace koord::scheduler
