#include "scheduler/plugins/reservation/unit_kind.h"

#include <algorithm>

#include "api/codec.h"
#include "base/log.h"
#include "kube/client.h"
#include "kube/events.h"
#include "model/pod_requests.h"
#include "model/well_known.h"
#include "scheduler/plugins/reservation/conditions.h"
#include "scheduler/plugins/reservation/reserve_pod.h"

namespace koord::scheduler {

namespace {

constexpr const char* kNotActive = "reservation is not active";
constexpr const char* kHoldsOthers = "reservation got other CPUs or devices in the meantime";
constexpr int kWriteAttempts = 5;

bool isRetriable(ErrorCode code) {
  return code == ErrorCode::Internal || code == ErrorCode::Unavailable ||
         code == ErrorCode::TooManyRequests || code == ErrorCode::Timeout;
}

// How the annotations differ from the wanted allocations.
json::object differences(const api::StringMap& now, const api::StringMap& wanted) {
  json::object changed;
  for (const auto& [key, text] : wanted)
    if (api::textIn(now, key) != text) changed.emplace(key, text);
  for (const std::string_view key : kHoldings)
    if (now.contains(key) && !wanted.contains(key)) changed.emplace(key, nullptr);
  return changed;
}

bool holdsTheSame(const api::StringMap& now, const api::StringMap& wanted) {
  return std::ranges::all_of(kHoldings, [&](std::string_view key) {
    return api::textIn(now, key) == api::textIn(wanted, key);
  });
}

// What is reserved for owners from now on.
Result<api::ResourceList> allocatableOf(const api::Reservation& reservation, const api::Pod& unit) {
  api::ResourceList amounts =
      isReservationActive(reservation) ? reservation.status.allocatable : model::podRequests(unit);
  const std::string* text =
      api::findIn(unit.metadata.annotations, model::kAnnotationReservationResizeAllocatable);
  if (!text) return amounts;
  auto resized = api::decodeText<api::ReservationResizeAllocatable>(*text, api::Reading::Go);
  if (!resized) {
    return fail(Error(std::move(resized.error()))
                    .within(std::string(model::kAnnotationReservationResizeAllocatable)));
  }
  for (const auto& [name, amount] : resized->resources) amounts.insert_or_assign(name, amount);
  return amounts;
}

}  // namespace

std::string reservationNameOf(const api::Pod& reservePod) {
  const std::string* name =
      api::findIn(reservePod.metadata.annotations, model::kAnnotationReservationName);
  return name ? *name : std::string();
}

ReservationKind::ReservationKind(Handle& handle)
    : api_(handle.api()),
      executor_(handle.executor()),
      store_(handle.stores().of<api::Reservation>()) {}

api::ObjectReference ReservationKind::reference(const PodInfo& unit) const {
  api::ObjectMeta meta;
  meta.name = reservationNameOf(*unit.pod);
  meta.uid = unit.uid();
  meta.resourceVersion = unit.pod->metadata.resourceVersion;
  return kube::referenceTo(api::Reservation::kType, meta);
}

std::string ReservationKind::nameOf(const PodInfo& unit) const {
  return reservationNameOf(*unit.pod);
}

ReservationKind::Object ReservationKind::known(const std::string& name,
                                               const std::string& uid) const {
  Object object = store_.get({"", name});
  return object && object->metadata.uid == uid ? object : nullptr;
}

Task<Result<ReservationKind::Object>> ReservationKind::fetch(std::string name, std::string uid) {
  if (!api_) co_return known(name, uid);
  auto call = kube::get<api::Reservation>(*api_, api::ObjectKey{"", std::move(name)});
  Result<api::Reservation> found = co_await call;
  if (!found) {
    if (found.error().code == ErrorCode::NotFound) co_return Object();
    co_return fail(std::move(found.error()));
  }
  if (found->metadata.uid != uid) co_return Object();
  co_return std::make_shared<const api::Reservation>(*std::move(found));
}

Task<Result<PodLocation>> ReservationKind::find(PodPtr unit) {
  auto asking = fetch(reservationNameOf(*unit->pod), unit->uid());
  const Result<Object> found = co_await asking;
  if (!found) co_return fail(Error(found.error()));
  PodLocation answer;
  if (!*found || isReservationTerminal(**found)) {
    answer.kind = PodLocation::Kind::Gone;
    co_return answer;
  }
  if (!isReservationActive(**found)) co_return answer;
  answer.kind = PodLocation::Kind::Bound;
  answer.node = (*found)->status.nodeName;
  if (auto current = makeReservePod(**found)) answer.current = *std::move(current);
  co_return answer;
}

Task<Result<>> ReservationKind::write(Object current, json::object status) {
  if (!api_) {
    // There is no other source: what is written is the new object.
    json::value merged = api::encode(current->status);
    if (!merged.is_object()) merged = json::object{};
    for (auto& member : status) merged.get_object()[member.key()] = member.value();
    auto read = api::decode<api::ReservationStatus>(merged);
    if (!read) co_return fail(std::move(read.error()));
    auto after = std::make_shared<api::Reservation>(*current);
    after->status = *std::move(read);
    executor_.post([&store = store_, after] {
      const auto now = store.get({"", after->metadata.name});
      if (now && now->metadata.uid == after->metadata.uid) store.set(after);
    });
    co_return Result<>{};
  }
  json::object metadata{{"uid", current->metadata.uid}};
  if (!current->metadata.resourceVersion.empty())
    metadata["resourceVersion"] = current->metadata.resourceVersion;
  json::object patch{{"metadata", std::move(metadata)}, {"status", std::move(status)}};
  auto call = kube::mergePatch(*api_, api::Reservation::kType, api::keyOf(current->metadata),
                               std::move(patch), "status");
  const Result<json::value> reply = co_await call;
  if (!reply) co_return fail(Error(reply.error()));
  co_return Result<>{};
}

// Under the resource version that was read, so that the next write is based on it.
Task<Result<ReservationKind::Object>> ReservationKind::writeAnnotations(Object current,
                                                                        json::object annotations) {
  if (!api_) co_return fail(ErrorCode::Unavailable, "no API server to write annotations to");
  json::object metadata{{"uid", current->metadata.uid}, {"annotations", std::move(annotations)}};
  if (!current->metadata.resourceVersion.empty())
    metadata["resourceVersion"] = current->metadata.resourceVersion;
  json::object patch{{"metadata", std::move(metadata)}};
  auto call = kube::mergePatch(*api_, api::Reservation::kType, api::keyOf(current->metadata),
                               std::move(patch));
  const Result<json::value> reply = co_await call;
  if (!reply) co_return fail(Error(reply.error()));
  auto read = api::decode<api::Reservation>(*reply);
  if (!read) co_return fail(std::move(read.error()));
  co_return std::make_shared<const api::Reservation>(*std::move(read));
}

Task<Result<>> ReservationKind::changeStatus(std::string name, std::string uid, Change change,
                                             Preparation preparation) {
  Object current = known(name, uid);
  Duration wait = std::chrono::milliseconds(10);
  for (int attempt = 1;; ++attempt) {
    if (!current) {
      auto asking = fetch(name, uid);
      Result<Object> found = co_await asking;
      if (!found) co_return fail(std::move(found.error()));
      if (!*found) co_return fail(ErrorCode::NotFound, "reservation \"" + name + "\" not found");
      current = *std::move(found);
    }
    Result<std::optional<json::object>> status = change(*current);
    if (!status) co_return fail(std::move(status.error()));
    if (!*status) co_return Result<>{};
    Result<> written;
    json::object lacking = preparation ? preparation(*current) : json::object();
    if (!lacking.empty()) {
      auto preparing = writeAnnotations(current, std::move(lacking));
      Result<Object> prepared = co_await preparing;
      if (prepared)
        current = *std::move(prepared);
      else
        written = fail(std::move(prepared.error()));
    }
    if (written) {
      auto writing = write(current, **std::move(status));
      written = co_await writing;
    }
    if (written) co_return Result<>{};
    const ErrorCode code = written.error().code;
    if (attempt == kWriteAttempts || (code != ErrorCode::Conflict && !isRetriable(code)))
      co_return fail(Error(written.error()));
    current = nullptr;
    auto pause = sleepFor(executor_, wait);
    co_await pause;
    wait *= 3;
  }
}

// Annotations and status cannot be written at once. The annotations are written first, and the
// status is written under the resource version that has them. After a crash in between, the
// Reservation is pending, and the scheduler that places it next, on any node, first removes the
// allocations that do not apply there. Two successive leaders cannot mix their choices.
Task<Result<>> ReservationKind::bind(PodPtr unit, std::string node, api::StringMap annotations) {
  auto pod = std::make_shared<api::Pod>(*unit->pod);
  for (const auto& [key, value] : annotations)
    pod->metadata.annotations.insert_or_assign(key, value);
  Preparation preparation = [annotations](const api::Reservation& reservation) {
    return differences(reservation.metadata.annotations, annotations);
  };
  Change change = [this, pod, node, annotations](
                      const api::Reservation& reservation) -> Result<std::optional<json::object>> {
    if (isReservationTerminal(reservation)) return fail(ErrorCode::Conflict, kNotActive);
    if (isReservationActive(reservation)) {
      if (reservation.status.nodeName != node)
        return fail(ErrorCode::Conflict,
                    "reservation is on node " + reservation.status.nodeName + " already");
      if (!holdsTheSame(reservation.metadata.annotations, annotations))
        return fail(ErrorCode::Conflict, kHoldsOthers);
      return std::optional<json::object>();
    }
    auto allocatable = allocatableOf(reservation, *pod);
    if (!allocatable) return fail(std::move(allocatable.error()));
    return std::optional<json::object>(
        placedStatus(reservation, node, *std::move(allocatable), executor_.wallNow()));
  };
  auto changing = changeStatus(reservationNameOf(*unit->pod), unit->uid(), std::move(change),
                               std::move(preparation));
  Result<> changed = co_await changing;
  co_return changed;
}

Task<void> ReservationKind::report(PodPtr unit, FailureReport failure) {
  Change change = [this, message = failure.message](
                      const api::Reservation& reservation) -> Result<std::optional<json::object>> {
    if (isReservationTerminal(reservation) || isReservationActive(reservation))
      return std::optional<json::object>();
    return unscheduledStatus(reservation, message, executor_.wallNow());
  };
  const std::string name = reservationNameOf(*unit->pod);
  auto changing = changeStatus(name, unit->uid(), std::move(change));
  const Result<> changed = co_await changing;
  if (!changed && changed.error().code != ErrorCode::NotFound)
    log::warn("status of reservation {} not updated: {}", name, changed.error().message);
}

Task<void> ReservationKind::announce(PodPtr, std::string) {
  co_return;  // there is no field for it
}

Task<Result<>> ReservationKind::annotate(PodPtr unit, api::StringMap annotations) {
  if (!api_) co_return fail(ErrorCode::Unavailable, "no API server to write annotations to");
  json::object added;
  for (const auto& [key, value] : annotations) added.emplace(key, value);
  json::object patch{
      {"metadata", json::object{{"uid", unit->uid()}, {"annotations", std::move(added)}}}};
  auto call = kube::mergePatch(*api_, api::Reservation::kType,
                               api::ObjectKey{"", reservationNameOf(*unit->pod)}, std::move(patch));
  const Result<json::value> reply = co_await call;
  if (!reply) co_return fail(Error(reply.error()));
  co_return Result<>{};
}

Task<bool> ReservationKind::evict(PodPtr, PodPtr) {
  co_return false;
}

}  // namespace koord::scheduler
