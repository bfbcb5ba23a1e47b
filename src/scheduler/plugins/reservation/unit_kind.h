#pragma once

// ReservationKind: what stands behind a reserve pod, and how it is written down: the status of a
// Reservation.

#include "kube/api.h"
#include "scheduler/framework/handle.h"
#include "scheduler/plugins/reservation/reservation_object.h"

namespace koord::scheduler {

class ReservationKind final : public UnitKind {
 public:
  explicit ReservationKind(Handle& handle);

  api::ObjectReference reference(const PodInfo& unit) const override;
  std::string nameOf(const PodInfo& unit) const override;
  // Whoever owns part of it counts on it.
  bool mayBeEvicted(const PodInfo&) const override { return false; }
  // Its priority, the highest unless somebody says otherwise, is to come first among those that wait.
  std::string mayNotPreempt(const PodInfo&) const override {
    return "not eligible, because reservations do not preempt.";
  }
  Task<Result<PodLocation>> find(PodPtr unit) override;
  Task<void> report(PodPtr unit, FailureReport failure) override;
  Task<void> announce(PodPtr unit, std::string node) override;
  Task<Result<>> annotate(PodPtr unit, api::StringMap annotations) override;
  Task<bool> evict(PodPtr unit, PodPtr preemptor) override;

  // Makes the Reservation available on the node, or one that waits for pods that it took over, holding what
  // the annotations say and nothing else; an error when it is over or gone, or holds something else already.
  Task<Result<>> bind(PodPtr unit, std::string node, api::StringMap annotations);

  // Changes the status of a Reservation. `change` is asked what to write, given the object as it is
  // now, and returns nothing when nothing is to be written; it is asked again with a newer object
  // when somebody else was faster. It must not suspend.
  using Change = std::function<Result<std::optional<json::object>>(const api::Reservation&)>;
  // What annotations lack before the status can be written; null takes one away.
  using Preparation = std::function<json::object(const api::Reservation&)>;
  Task<Result<>> changeStatus(std::string name, std::string uid, Change change,
                              Preparation preparation = nullptr);

 private:
  using Object = std::shared_ptr<const api::Reservation>;
  // nullptr when it is gone.
  Task<Result<Object>> fetch(std::string name, std::string uid);
  Task<Result<>> write(Object current, json::object status);
  // The object that comes of it.
  Task<Result<Object>> writeAnnotations(Object current, json::object annotations);
  Object known(const std::string& name, const std::string& uid) const;

  kube::Api* api_;
  Executor& executor_;
  Store<api::Reservation>& store_;
};

// The name of the Reservation behind a reserve pod.
std::string reservationNameOf(const api::Pod& reservePod);

}  // namespace koord::scheduler
