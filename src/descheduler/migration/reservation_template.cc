#include "descheduler/migration/reservation_template.h"

#include <fmt/format.h>

#include <chrono>

#include "api/codec.h"
#include "base/time.h"
#include "descheduler/migration/job_status.h"
#include "descheduler/migration/keys.h"
#include "model/well_known.h"

namespace koord::descheduler {

namespace {

json::object& objectAt(json::object& parent, std::string_view name) {
  json::value& member = parent[json::string_view(name.data(), name.size())];
  if (!member.is_object()) member = json::object();
  return member.get_object();
}

// Returns true if the pod waits for a node itself. Then the Reservation is for this pod.
bool waitsForNode(const json::value& pod) {
  const json::value* conditions = at(pod, "status", "conditions");
  if (textAt(pod, "status", "phase") != "Pending" || !conditions || !conditions->is_array())
    return false;
  for (const json::value& each : conditions->get_array())
    if (textAt(each, "type") == "PodScheduled" && textAt(each, "status") == "False") return true;
  return false;
}

json::object ownerByName(const json::value& pod) {
  return {{"object", json::object{{"apiVersion", "v1"},
                                  {"kind", "Pod"},
                                  {"namespace", json::string(textAt(pod, "metadata", "namespace"))},
                                  {"name", json::string(textAt(pod, "metadata", "name"))},
                                  {"uid", json::string(textAt(pod, "metadata", "uid"))}}}};
}

json::array ownersOf(const json::value& pod, const std::optional<api::LabelSelector>& labels) {
  if (waitsForNode(pod)) return {ownerByName(pod)};
  const json::value* owners = at(pod, "metadata", "ownerReferences");
  if (!owners || !owners->is_array()) return {};
  for (const json::value& owner : owners->get_array()) {
    const json::value* controller = find(owner, "controller");
    if (!controller || !controller->is_bool() || !controller->get_bool()) continue;
    json::object reference = owner.get_object();
    reference["namespace"] = json::string(textAt(pod, "metadata", "namespace"));
    if (!labels) return {json::object{{"controller", std::move(reference)}}};
    // Any ReplicaSet of the namespace whose pods have the labels of the Deployment. The CRD
    // requires both fields; empty ones match all.
    reference["name"] = reference["uid"] = "";
    reference.erase("blockOwnerDeletion");
    return {json::object{{"controller", std::move(reference)},
                         {"labelSelector", api::encode(*labels)}}};
  }
  return {};
}

// Added to every required term, because one matching term is enough.
void stayOff(json::object& podSpec, const std::set<std::string>& avoid) {
  if (avoid.empty()) return;
  json::array names;
  for (const std::string& node : avoid) names.push_back(json::string(node));
  const json::object away{
      {"key", "metadata.name"}, {"operator", "NotIn"}, {"values", std::move(names)}};
  json::object& required = objectAt(objectAt(objectAt(podSpec, "affinity"), "nodeAffinity"),
                                    "requiredDuringSchedulingIgnoredDuringExecution");
  json::value& terms = required["nodeSelectorTerms"];
  if (!terms.is_array() || terms.get_array().empty()) terms = json::array{json::object()};
  for (json::value& term : terms.get_array()) {
    if (!term.is_object()) term = json::object();
    json::value& fields = term.get_object()["matchFields"];
    if (!fields.is_array()) fields = json::array();
    fields.get_array().push_back(away);
  }
}

void dropClaims(json::object& podSpec) {
  json::value* volumes = podSpec.if_contains("volumes");
  if (!volumes || !volumes->is_array()) return;
  json::array kept;
  for (json::value& volume : volumes->get_array())
    if (!find(volume, "persistentVolumeClaim") && !find(volume, "ephemeral"))
      kept.push_back(std::move(volume));
  *volumes = std::move(kept);
}

// Removes fields of the stored pod that would be invalid or meaningless in a template.
json::object templateOf(const json::value& pod) {
  json::object metadata;
  if (const json::value* given = find(pod, "metadata"); given && given->is_object())
    metadata = given->get_object();
  metadata.erase("managedFields");
  const json::value* spec = find(pod, "spec");
  return {{"metadata", std::move(metadata)}, {"spec", spec ? *spec : json::object()}};
}

}  // namespace

Result<json::object> reservationFor(const api::PodMigrationJob& job, const json::value& pod,
                                    const std::set<std::string>& avoid, WallTime now,
                                    bool withoutClaims,
                                    const std::optional<api::LabelSelector>& workloadLabels) {
  json::object reservation;
  if (job.spec.reservationOptions && job.spec.reservationOptions->template_.is_object())
    reservation = job.spec.reservationOptions->template_.get_object();
  reservation["apiVersion"] = "scheduling.koordinator.sh/v1alpha1";
  reservation["kind"] = "Reservation";
  json::object& metadata = objectAt(reservation, "metadata");
  if (textAt(metadata, "name").empty()) metadata["name"] = job.metadata.uid;
  json::object& labels = objectAt(metadata, "labels");
  labels[kLabelCreatedBy] = kCreatedBy;
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
  labels[model::kLabelReservationOrder] = std::to_string(since.count());

  json::object& spec = objectAt(reservation, "spec");
  if (!spec.contains("template") || !spec["template"].is_object())
    spec["template"] = templateOf(pod);
  const json::value* owners = spec.if_contains("owners");
  if (!owners || !owners->is_array() || owners->get_array().empty())
    spec["owners"] = ownersOf(pod, workloadLabels);
  if (spec["owners"].get_array().empty()) {
    return fail(ErrorCode::Invalid,
                "the pod has no controller, so no pod will come that could use a reservation: use "
                "spec.mode EvictDirectly, or name owners in spec.reservationOptions.template");
  }
  spec["allocateOnce"] = true;
  const auto ttl = ttlOf(job);
  if (ttl && *ttl && !spec.contains("ttl") && !spec.contains("expires"))
    spec["ttl"] = formatDuration(**ttl);
  json::object& podSpec = objectAt(objectAt(spec, "template"), "spec");
  podSpec.erase("nodeName");
  stayOff(podSpec, avoid);
  if (withoutClaims) dropClaims(podSpec);
  return reservation;
}

}  // namespace koord::descheduler
