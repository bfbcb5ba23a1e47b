#pragma once

// ReservationKind: the kind of reserve pods. It reads and writes the Reservation behind a reserve
// pod and its status.

#include "kube/api.h"
#include "scheduler/framework/handle.h"
#include "scheduler/plugins/reservation/reservation_object.h"

namespace koord::scheduler {

class ReservationKind final : public UnitKind {
 public:
  explicit ReservationKind(Handle& handle);

  api::ObjectReference reference(const PodInfo& unit) const override;
  std::string nameOf(const PodInfo& unit) const override;
  // Its owners rely on it.
  bool mayBeEvicted(const PodInfo&) const override { return false; }
  // Reservations have the highest priority by default, which only puts them first in the queue.
  std::string preemptionBlockedReason(const PodInfo&) const override {
    return "not eligible, because reservations do not preempt.";
  }
  Task<Result<PodLocation>> find(PodPtr unit) override;
  Task<void> report(PodPtr unit, FailureReport failure) override;
  Task<void> announce(PodPtr unit, std::string node) override;
  Task<Result<>> annotate(PodPtr unit, api::StringMap annotations) override;
  Task<bool> evict(PodPtr unit, PodPtr preemptor) override;

  // Makes the Reservation available on the node, with exactly the allocations in the annotations. A
  // Reservation that waits for pods that it took over becomes available, too. Fails if it has
  // ended, is gone, or already has other allocations.
  Task<Result<>> bind(PodPtr unit, std::string node, api::StringMap annotations);

  // Changes the status of a Reservation. `change` gets the current object and returns the patch, or
  // nullopt if nothing is to be written. On a conflict it is called again with the newer object. It
  // must not suspend.
  using Change = std::function<Result<std::optional<json::object>>(const api::Reservation&)>;
  // Returns the annotations to write before the status; null removes one.
  using Preparation = std::function<json::object(const api::Reservation&)>;
  Task<Result<>> changeStatus(std::string name, std::string uid, Change change,
                              Preparation preparation = nullptr);

 private:
  using Object = std::shared_ptr<const api::Reservation>;
  // nullptr if it is gone.
  Task<Result<Object>> fetch(std::string name, std::string uid);
  Task<Result<>> write(Object current, json::object status);
  // Returns the object after the write.
  Task<Result<Object>> writeAnnotations(Object current, json::object annotations);
  Object known(const std::string& name, const std::string& uid) const;

  kube::Api* api_;
  Executor& executor_;
  Store<api::Reservation>& store_;
};

// The name of the Reservation behind a reserve pod.
std::string reservationNameOf(const api::Pod& reservePod);

}  // namespace koord::scheduler
