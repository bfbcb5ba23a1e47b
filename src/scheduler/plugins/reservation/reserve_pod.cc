#include "scheduler/plugins/reservation/reserve_pod.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "api/codec.h"
#include "model/pod_requests.h"
#include "model/well_known.h"

namespace koord::scheduler {

namespace {

constexpr const char* kAllOfIt = "__internal_fake_container__";

// Reservations come before pods by default.
std::int32_t priorityOf(const api::Reservation& reservation) {
  constexpr std::int32_t kHighest = std::numeric_limits<std::int32_t>::max();
  const std::string* text = api::findIn(reservation.metadata.labels, model::kLabelSubPriority);
  if (!text) return kHighest;
  std::int32_t priority = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), priority);
  return error == std::errc{} && end == text->data() + text->size() ? priority : kHighest;
}

void dropResources(api::List<api::Container>& containers) {
  for (api::Container& container : containers) container.resources = {};
}

// What was recorded when it was placed counts, even if the template has changed since.
void askForRecorded(api::Pod& pod, const api::ResourceList& recorded) {
  api::ResourceList wanted = model::podRequests(pod);
  if (recorded.empty() || wanted == recorded) return;
  for (const auto& [name, amount] : recorded) wanted.insert_or_assign(name, amount);
  pod.spec.overhead = {};
  pod.spec.resources = {};
  dropResources(pod.spec.containers);
  dropResources(pod.spec.initContainers);
  api::Container& all = pod.spec.containers.emplace_back();
  all.name = kAllOfIt;
  all.resources.limits = wanted;
  all.resources.requests = std::move(wanted);
}

Result<> checkAmounts(const std::string& field, const api::ResourceList& amounts) {
  for (const auto& [name, amount] : amounts) {
    if (amount.sign() >= 0) continue;
    return fail(ErrorCode::Invalid,
                fmt::format("{}[{}]: Invalid value: \"{}\": must not be negative", field, name,
                            amount.toString()));
  }
  return {};
}

// The API server rejects pods with such amounts, but does not check the template.
Result<> checkAmounts(const std::string& field, const api::List<api::Container>& containers) {
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const api::ResourceRequirements& resources = containers[i].resources;
    const std::string here = fmt::format("{}[{}].resources", field, i);
    if (auto checked = checkAmounts(here + ".requests", resources.requests); !checked)
      return checked;
    if (auto checked = checkAmounts(here + ".limits", resources.limits); !checked) return checked;
  }
  return {};
}

Result<> checkAmounts(const api::PodSpec& spec) {
  if (auto checked = checkAmounts("spec.template.spec.containers", spec.containers); !checked)
    return checked;
  return checkAmounts("spec.template.spec.initContainers", spec.initContainers);
}

void overlay(api::StringMap& onto, const api::StringMap& from) {
  for (const auto& [key, value] : from) onto.insert_or_assign(key, value);
}

}  // namespace

bool isReservationActive(const api::Reservation& reservation) {
  const auto& phase = reservation.status.phase;
  return (phase == "Available" || phase == "Waiting") && !reservation.status.nodeName.empty();
}

bool isReservationTerminal(const api::Reservation& reservation) {
  return reservation.status.phase == "Succeeded" || reservation.status.phase == "Failed";
}

Result<> checkReservation(const api::Reservation& reservation) {
  const api::ReservationSpec& spec = reservation.spec;
  if (spec.template_.is_null())
    return fail(ErrorCode::Invalid, "the reservation misses the template spec");
  if (spec.owners.empty()) return fail(ErrorCode::Invalid, "the reservation misses the owner spec");
  if (!spec.ttl && !spec.expires)
    return fail(ErrorCode::Invalid, "the reservation misses the expiration spec");
  return {};
}

Result<std::shared_ptr<const api::Pod>> makeReservePod(const api::Reservation& reservation) {
  if (!reservation.spec.template_.is_object())
    return fail(ErrorCode::Invalid, "spec.template: expected an object");
  auto read = api::decode<api::PodTemplateSpec>(reservation.spec.template_);
  if (!read) return fail(ErrorCode::Invalid, "spec.template." + read.error().message);
  if (auto checked = checkAmounts(read->spec); !checked)
    return fail(Error(std::move(checked.error())));
  const std::string& uid = reservation.metadata.uid;
  auto pod = std::make_shared<api::Pod>();
  pod->spec = std::move(read->spec);
  pod->metadata.labels = std::move(read->metadata.labels);
  pod->metadata.annotations = std::move(read->metadata.annotations);
  pod->metadata.namespace_ =
      read->metadata.namespace_.empty() ? "default" : read->metadata.namespace_;
  pod->metadata.name = uid;
  pod->metadata.uid = uid;
  pod->metadata.resourceVersion = reservation.metadata.resourceVersion;
  if (!reservation.status.nodeName.empty())
    for (const std::string_view key : kHoldings) pod->metadata.annotations.erase(key);
  overlay(pod->metadata.labels, reservation.metadata.labels);
  overlay(pod->metadata.annotations, reservation.metadata.annotations);
  api::StringMap& annotations = pod->metadata.annotations;
  annotations[model::kAnnotationReservePod] = "true";
  annotations[model::kAnnotationReservationName] = reservation.metadata.name;
  if (reservation.spec.preAllocation) annotations[model::kAnnotationIsPreAllocation] = "true";
  if (!pod->spec.nodeName.empty())
    annotations[model::kAnnotationReservationNode] = std::exchange(pod->spec.nodeName, {});
  pod->spec.nodeName = reservation.status.nodeName;
  if (!pod->spec.priority) pod->spec.priority = priorityOf(reservation);
  if (pod->spec.schedulerName.empty()) pod->spec.schedulerName = "default-scheduler";
  if (isReservationTerminal(reservation)) pod->status.phase = reservation.status.phase;
  // Claims restrict the node. Claims that are created per pod do not exist yet.
  erase_if(pod->spec.volumes,
           [](const api::Volume& volume) { return !volume.ephemeral.is_null(); });
  if (isReservationActive(reservation)) askForRecorded(*pod, reservation.status.allocatable);
  return std::shared_ptr<const api::Pod>(std::move(pod));
}

}  // namespace koord::scheduler
