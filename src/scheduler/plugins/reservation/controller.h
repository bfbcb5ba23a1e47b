#pragma once

// ReservationController: keeps the status of reservations and lets them end.
//
// It looks at a reservation when the object, its owners or its node change, and when it expires;
// what it writes follows from the ledger. Nothing is written that the object says already.

#include <map>
#include <set>
#include <string>

#include "kube/work_queue.h"
#include "scheduler/framework/handle.h"
#include "scheduler/plugins/reservation/args.h"
#include "scheduler/plugins/reservation/book.h"

namespace koord::scheduler {

class ReservationController {
 public:
  ReservationController(Handle& handle, ReservationBook& book, const ReservationArgs& args);
  ~ReservationController();
  ReservationController(const ReservationController&) = delete;
  ReservationController& operator=(const ReservationController&) = delete;

  // Never ends.
  Task<void> run();

 private:
  Task<Result<>> sync(std::string uid);
  Task<Result<>> end(ReservationPtr entry);
  Task<Result<>> tellInvalid(ReservationPtr entry);
  // Takes the annotation of a reservation that is no more off the pods that still have it.
  Task<Result<>> release(std::string uid);
  Task<void> collectGarbage();
  void enqueue(const std::string& uid);
  bool lostNode(const api::Reservation& reservation) const;
  bool isGarbage(const api::Reservation& reservation) const;
  void tellProblems(const ReservationEntry& entry);
  // When it is over by itself; remembered until then. Never for one that does not expire.
  void expectEnd(const std::string& uid, std::optional<WallTime> at);
  void arm();

  Handle& handle_;
  Cluster& cluster_;
  Executor& executor_;
  ReservationBook& book_;
  const ReservationArgs args_;
  std::vector<std::unique_ptr<kube::WorkQueue>> workers_;  // by hash of the uid
  std::set<std::pair<WallTime, std::string>> ends_;
  std::map<std::string, WallTime> endOf_;
  std::map<std::string, std::string> told_;  // problems, by uid
  TimerId timer_ = 0;
};

// When a reservation expires: absent for never, an error for a time that cannot be read.
// `expires` counts where it is given, else ttl; a ttl of 0 is never.
Result<std::optional<WallTime>> endOf(const api::Reservation& reservation);

// The status as the ledger has it, where it differs from the object's; absent when it does not. Pods
// count from the moment they are seen as bound.
std::optional<json::object> usedStatus(const Cluster& cluster, const ReservationEntry& entry,
                                       const api::Reservation& reservation, WallTime now);

}  // namespace koord::scheduler
