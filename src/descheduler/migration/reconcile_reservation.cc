#include <fmt/format.h>

#include <algorithm>

#include "descheduler/migration/keys.h"
#include "descheduler/migration/reconciler_work.h"
#include "descheduler/migration/reservation_template.h"
#include "kube/client.h"

namespace koord::descheduler {

namespace {

using ReservationPtr = std::shared_ptr<const api::Reservation>;

const api::ReservationCondition* conditionIn(const api::Reservation& reservation,
                                             std::string_view type) {
  const auto& list = reservation.status.conditions;
  const auto it = std::ranges::find(list, type, &api::ReservationCondition::type);
  return it == list.end() ? nullptr : it;
}

bool isScheduled(const api::Reservation& reservation) {
  const auto* scheduled = conditionIn(reservation, "Scheduled");
  return !reservation.status.nodeName.empty() && scheduled && scheduled->status == "True" &&
         scheduled->reason == "Scheduled";
}

// Returns true if repeating the request cannot succeed.
bool isHopeless(ErrorCode code) {
  return code == ErrorCode::Invalid || code == ErrorCode::BadRequest;
}

std::set<std::string> nodesToAvoid(const api::PodMigrationJob& job, const api::Pod& pod) {
  std::set<std::string> avoid;
  if (!pod.spec.nodeName.empty()) avoid.insert(pod.spec.nodeName);
  std::string_view more = annotationOf(job, kAnnotationAvoidNodes);
  while (!more.empty()) {
    const auto comma = more.find(',');
    avoid.emplace(more.substr(0, comma));
    more = comma == more.npos ? std::string_view() : more.substr(comma + 1);
  }
  return avoid;
}

}  // namespace

Task<Result<ReservationPtr>> Reconciler::readReservation(std::string name) {
  if (auto known = reservations_.get({"", name})) co_return known;
  const api::ObjectKey key{"", name};
  auto reading = kube::get<api::Reservation>(handle_.api(), key);
  auto reservation = co_await reading;
  if (reservation) co_return std::make_shared<const api::Reservation>(*std::move(reservation));
  if (reservation.error().code == ErrorCode::NotFound) co_return ReservationPtr();
  co_return fail(std::move(reservation.error()));
}

// Creates the Reservation and waits until it has a suitable node.
Reconciler::Step Reconciler::ensureReservation(Work* work) {
  if (work->evictsDirectly(args_)) co_return Outcome::proceed();
  if (work->reservationName().empty()) {
    auto creating = createReservation(work);
    co_return co_await creating;
  }
  auto reading = readReservation(work->reservationName());
  auto reservation = co_await reading;
  if (!reservation) co_return fail(std::move(reservation.error()));
  work->reservation = *std::move(reservation);
  // After the eviction only the new pod matters, if the job names it.
  if (!work->reservation && work->status.podRef &&
      isTrue(work->status, condition::kReservationBound) &&
      isTrue(work->status, condition::kEviction))
    co_return Outcome::proceed();
  if (!work->reservation) {
    co_return Outcome::failed(
        reason::kMissingReservation,
        fmt::format("Abort job caused by missing Reservation \"/{}\"", work->reservationName()));
  }
  work->set(condition::kReservationCreated, true, "", "");
  auto watching = watchPendingPod(work);
  auto watched = co_await watching;
  if (!watched || !watched->proceeds()) co_return watched;
  auto judging = judgeReservation(work);
  co_return co_await judging;
}

Reconciler::Step Reconciler::createReservation(Work* work) {
  const api::ObjectKey podKey = podKeyOf(*work->job);
  // Reads the whole pod: the kept pod is not enough for a template.
  auto reading = kube::getObject(handle_.api(), api::Pod::kType, podKey);
  auto pod = co_await reading;
  if (!pod && pod.error().code != ErrorCode::NotFound) co_return fail(std::move(pod.error()));
  if (!pod || textAt(*pod, "metadata", "uid") != work->job->spec.podRef.uid)
    co_return missingPod(*work);
  auto decoded = api::decode<api::Pod>(*pod);
  if (!decoded) co_return fail(std::move(decoded.error()));
  const auto workload = workloads_.of(*decoded);
  auto reservation = reservationFor(*work->job, *pod, nodesToAvoid(*work->job, *decoded), work->now,
                                    handle_.gate("DisablePVCReservation"), workload.labels);
  if (!reservation)
    co_return Outcome::failed(reason::kFailedCreateReservation, reservation.error().message);
  auto creating = kube::createObject(handle_.api(), api::Reservation::kType, {}, *reservation);
  auto created = co_await creating;
  const bool there = !created && created.error().code == ErrorCode::AlreadyExists;
  if (!created && !there) {
    const std::string message =
        fmt::format("Failed to create Reservation caused by {}", created.error().message);
    if (work->set(condition::kReservationCreated, false, reason::kFailedCreateReservation, message))
      writer_.recordEvent(*work->job, "Warning", reason::kFailedCreateReservation, message);
    if (isHopeless(created.error().code))
      co_return Outcome::failed(reason::kFailedCreateReservation, message).withoutEvent();
    auto saving = save(work);
    (void)co_await saving;
    co_return fail(std::move(created.error()));
  }
  auto persisting = persistReservation(work, *std::move(reservation));
  co_return co_await persisting;
}

Reconciler::Step Reconciler::persistReservation(Work* work, json::object reservation) {
  const std::string name(textAt(reservation, "metadata", "name"));
  const api::ObjectKey key{"", name};
  auto reading = kube::get<api::Reservation>(handle_.api(), key);
  auto made = co_await reading;
  if (!made) co_return fail(std::move(made.error()));
  // It already exists: from a process that died, or another object with the name in the template.
  const auto* by = api::findIn(made->metadata.labels, kLabelCreatedBy);
  if (!by || *by != kCreatedBy) {
    co_return Outcome::failed(reason::kFailedCreateReservation,
                              fmt::format("spec.reservationOptions.template.metadata.name: "
                                          "Reservation \"{}\" exists and belongs to something else",
                                          name));
  }
  reservation.erase("apiVersion");
  reservation.erase("kind");
  json::object options{
      {"template", std::move(reservation)},
      {"reservationRef", json::object{{"apiVersion", "scheduling.koordinator.sh/v1alpha1"},
                                      {"kind", "Reservation"},
                                      {"name", name},
                                      {"uid", made->metadata.uid}}}};
  json::object patch{{"spec", json::object{{"reservationOptions", std::move(options)}}}};
  auto changing = writer_.change(work->job, std::move(patch));
  auto changed = co_await changing;
  if (!changed) co_return fail(std::move(changed.error()));
  work->job = *std::move(changed);
  writer_.recordEvent(*work->job, "Normal", condition::kReservationCreated,
                      fmt::format("Successfully create Reservation \"{}\"", name));
  // The change of the job triggers the next pass.
  co_return Outcome::wait();
}

// Fails the job if the Reservation has failed: it expired, or its node was deleted.
Reconciler::Outcome Reconciler::reservationOutcome(const api::Reservation& reservation) {
  if (reservation.status.phase != "Failed") return Outcome::proceed();
  const auto* ready = conditionIn(reservation, "Ready");
  const bool expired = ready && ready->reason == "Expired";
  const auto* scheduled = conditionIn(reservation, "Scheduled");
  std::string why = scheduled && scheduled->reason == "Unschedulable" ? scheduled->message
                    : ready                                           ? ready->message
                                                                      : std::string();
  return (expired ? Outcome::failed(reason::kReservationExpired, "Reservation expired")
                  : Outcome::failed(reason::kUnschedulable, std::move(why)))
      .withoutEvent();
}

Reconciler::Step Reconciler::judgeReservation(Work* work) {
  const api::Reservation& reservation = *work->reservation;
  if (!isTrue(work->status, condition::kReservationBound)) {
    Outcome outcome = reservationOutcome(reservation);
    if (!outcome.proceeds()) co_return outcome;
  }
  if (isTrue(work->status, condition::kReservationScheduled)) co_return Outcome::proceed();
  const auto* scheduled = conditionIn(reservation, "Scheduled");
  std::string why;
  if (scheduled && scheduled->reason == "Unschedulable") {
    why = scheduled->message;
    if (work->set(condition::kReservationScheduled, false, reason::kUnschedulable, why))
      writer_.recordEvent(*work->job, "Warning", reason::kUnschedulable, why);
  }
  const auto phase = reservation.status.phase.view();
  if (phase.empty() || phase == "Pending") co_return Outcome::wait();
  if (!isScheduled(reservation))
    co_return Outcome::failed(reason::kUnschedulable, why).withoutEvent();
  auto taking = takePlace(work);
  co_return co_await taking;
}

Reconciler::Step Reconciler::takePlace(Work* work) {
  const api::Reservation& reservation = *work->reservation;
  auto reading = readPod(podKeyOf(*work->job));
  auto pod = co_await reading;
  if (!pod) co_return fail(std::move(pod.error()));
  const std::string& node = reservation.status.nodeName;
  const bool same =
      *pod && (*pod)->metadata.uid == work->job->spec.podRef.uid && (*pod)->spec.nodeName == node;
  if (same) {
    co_return Outcome::failed(
        reason::kForbidden,
        fmt::format("Scheduler assignes the Reservation \"{}\" on the same node as the Pod",
                    reservation.metadata.name));
  }
  work->status.nodeName = node;
  work->set(condition::kReservationScheduled, true, "", "");
  auto saving = save(work);
  auto saved = co_await saving;
  if (!saved) co_return fail(std::move(saved.error()));
  writer_.recordEvent(
      *work->job, "Normal", condition::kReservationScheduled,
      fmt::format("Assigned Reservation \"{}\" to node \"{}\"", reservation.metadata.name, node));
  co_return Outcome::proceed();
}

// A pod that waits for a node itself is not evicted: it uses the Reservation or other free
// resources.
Reconciler::Step Reconciler::watchPendingPod(Work* work) {
  const auto& owners = work->reservation->spec.owners;
  const bool byName = std::ranges::any_of(owners, [](const api::ReservationOwner& owner) {
    return owner.object && !owner.object->name.empty() && !owner.controller && !owner.labelSelector;
  });
  if (!byName) co_return Outcome::proceed();
  auto reading = readPod(podKeyOf(*work->job));
  auto read = co_await reading;
  if (!read) co_return fail(std::move(read.error()));
  const auto pod = *read;
  if (!pod || pod->metadata.uid != work->job->spec.podRef.uid) co_return missingPod(*work);
  if (!pod->spec.nodeName.empty()) {
    auto succeeding = pendingPodPlaced(work, pod);
    co_return co_await succeeding;
  }
  const auto& users = work->reservation->status.currentOwners;
  if (work->reservation->status.phase == "Succeeded" &&
      (users.empty() || users.front().uid != pod->metadata.uid)) {
    co_return Outcome::failed(reason::kForbidden, "Reservation is already bound by another Pod");
  }
  if (!isScheduled(*work->reservation)) co_return Outcome::proceed();  // and report why not
  const auto& conditions = pod->status.conditions;
  const auto scheduled =
      std::ranges::find(conditions, std::string_view("PodScheduled"), &api::PodCondition::type);
  work->set(condition::kPodScheduled, false, reason::kUnschedulable,
            scheduled == conditions.end() ? std::string() : scheduled->message);
  co_return Outcome::wait();
}

Reconciler::Step Reconciler::pendingPodPlaced(Work* work, std::shared_ptr<const api::Pod> pod) {
  // It may have been scheduled elsewhere.
  const auto& users = work->reservation->status.currentOwners;
  if (users.empty() || users.front().uid != pod->metadata.uid) {
    auto dropping = dropReservation(work->job);
    (void)co_await dropping;
  }
  const std::string message =
      fmt::format("Assign Pod {} to node \"{}\"", work->podText(), pod->spec.nodeName);
  work->status.nodeName = pod->spec.nodeName;
  work->set(condition::kPodScheduled, true, "", "");
  co_return Outcome::succeeded(message);
}

Reconciler::Step Reconciler::waitForBinding(Work* work) {
  if (isTrue(work->status, condition::kReservationBound) && work->status.podRef)
    co_return Outcome::proceed();
  const auto& users = work->reservation->status.currentOwners;
  const std::string message =
      fmt::format("Reservation \"{}\" waits for a pod", work->reservation->metadata.name);
  // Always set, so that conditions have the same order even if the pod is bound at once.
  const bool news =
      work->set(condition::kPodBoundReservation, false, reason::kWaitForPodBind, message);
  if (users.empty()) {
    if (news) writer_.recordEvent(*work->job, "Normal", reason::kWaitForPodBind, message);
    co_return Outcome::wait();
  }
  api::ObjectReference bound = users.front();
  const std::string pod = fmt::format("\"{}/{}\"", bound.namespace_, bound.name);
  work->status.podRef = std::move(bound);
  work->set(condition::kReservationBound, true, "", "");
  auto saving = save(work);
  auto saved = co_await saving;
  if (!saved) co_return fail(std::move(saved.error()));
  writer_.recordEvent(*work->job, "Normal", condition::kPodBoundReservation,
                      fmt::format("Reservation bound by pod {}", pod));
  co_return Outcome::proceed();
}

Reconciler::Step Reconciler::waitForReady(Work* work) {
  const auto& reference = *work->status.podRef;
  const std::string text = fmt::format("\"{}/{}\"", reference.namespace_, reference.name);
  auto reading = readPod({reference.namespace_, reference.name});
  auto pod = co_await reading;
  if (!pod) co_return fail(std::move(pod.error()));
  // If the pod has been deleted, there is nothing to wait for.
  if (*pod && (*pod)->metadata.uid == reference.uid && !(*pod)->facts.is(PodFacts::Ready)) {
    const std::string message = fmt::format("Bind pod {} is not ready", text);
    if (work->set(condition::kBoundPodReady, false, reason::kWaitForBoundPodReady, message))
      writer_.recordEvent(*work->job, "Normal", reason::kWaitForBoundPodReady, message);
    co_return Outcome::wait();
  }
  work->set(condition::kBoundPodReady, true, "", "");
  writer_.recordEvent(*work->job, "Normal", condition::kBoundPodReady,
                      fmt::format("Bind pod {} is ready", text));
  const std::string message =
      fmt::format("Bind Pod {} in Reservation \"{}\"", text, work->reservationName());
  work->set(condition::kPodBoundReservation, true, "", message);
  co_return Outcome::succeeded(message);
}

}  // namespace koord::descheduler
