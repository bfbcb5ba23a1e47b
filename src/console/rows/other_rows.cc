#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/time.h"
#include "console/rows/rows.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::console {

namespace {

std::string labelOf(const api::ObjectMeta& meta, std::string_view key) {
  const auto* text = api::findIn(meta.labels, key);
  return text ? *text : std::string();
}

std::string annotationOf(const api::ObjectMeta& meta, std::string_view key) {
  const auto* text = api::findIn(meta.annotations, key);
  return text ? *text : std::string();
}

// A list of resources that koord-scheduler writes in an annotation.
api::ResourceList annotatedAmounts(const api::ObjectMeta& meta, std::string_view key) {
  api::ResourceList list;
  const auto document = parseJson(annotationOf(meta, key));
  if (!document) return list;
  for (const auto& member : membersOf(*document)) {
    const auto amount = Quantity::parse(textAt(*document, member.key()));
    if (amount) list[std::string(member.key())] = *amount;
  }
  return list;
}

api::Time timeIn(std::string_view text) {
  const auto time = parseTime(text);
  return time ? api::Time(*time) : std::nullopt;
}

// "app=web in namespace shop, ReplicaSet default/web-1": which pods may use it.
std::string ownersText(const api::Reservation& reservation) {
  std::string out;
  const auto add = [&](std::string text) {
    if (!text.empty()) out += (out.empty() ? "" : ", ") + std::move(text);
  };
  for (const auto& owner : reservation.spec.owners) {
    if (owner.object)
      add(fmt::format("{} {}/{}", owner.object->kind, owner.object->namespace_,
                      owner.object->name));
    if (owner.controller)
      add(fmt::format("pods of {} {}/{}", owner.controller->kind, owner.controller->namespace_,
                      owner.controller->name));
    if (!owner.labelSelector) continue;
    for (const auto& [key, value] : owner.labelSelector->matchLabels) add(key + "=" + value);
    for (const auto& term : owner.labelSelector->matchExpressions)
      add(fmt::format("{} {}", term.key, term.operator_));
  }
  return out;
}

// The last message of a condition that is not fulfilled.
std::string reservationMessage(const api::Reservation& reservation) {
  for (const auto& condition : reservation.status.conditions)
    if (condition.status == "False" && !condition.message.empty()) return condition.message;
  return {};
}

// spec.expires, else spec.ttl (24 h without one) after the creation; a ttl of 0 never ends.
api::Time expiryOf(const api::Reservation& reservation) {
  if (reservation.spec.expires) return timeIn(reservation.spec.expires->view());
  Duration ttl = std::chrono::hours(24);
  if (reservation.spec.ttl) {
    const auto parsed = parseDuration(reservation.spec.ttl->view());
    if (!parsed || *parsed == Duration::zero()) return std::nullopt;
    ttl = *parsed;
  }
  if (!reservation.metadata.creationTimestamp) return std::nullopt;
  return *reservation.metadata.creationTimestamp + ttl;
}

}  // namespace

// namespace, name, parent, tree, min, max, used, runtime, request, lends, created
Row rowOf(const api::ElasticQuota& quota) {
  const auto& meta = quota.metadata;
  Row row{meta.namespace_ + "/" + meta.name, {}, {}, {}};
  row.figures.cpu = model::amountOf(quota.status.used, model::kCpu).milliValue();
  row.figures.memory = mebibytes(model::amountOf(quota.status.used, model::kMemory));
  const auto runtime = annotatedAmounts(meta, model::kAnnotationQuotaRuntime);
  const auto request = annotatedAmounts(meta, model::kAnnotationQuotaRequest);
  row.extra = {model::amountOf(runtime, model::kCpu).milliValue(),
               mebibytes(model::amountOf(runtime, model::kMemory)),
               model::amountOf(request, model::kCpu).milliValue(),
               mebibytes(model::amountOf(request, model::kMemory))};
  RowWriter out;
  out.text(meta.namespace_);
  out.text(meta.name);
  out.text(labelOf(meta, model::kLabelQuotaParent));
  out.text(labelOf(meta, model::kLabelQuotaTree));
  out.json(amountsJson(quota.spec.min));
  out.json(amountsJson(quota.spec.max));
  out.json(amountsJson(quota.status.used));
  out.json(amountsJson(runtime));
  out.json(amountsJson(request));
  out.flag(labelOf(meta, model::kLabelQuotaLends) != "false");
  out.time(meta.creationTimestamp);
  row.columns = std::move(out).finish();
  return row;
}

// namespace, name, required members, phase, created, seconds that it may wait, message
Row rowOf(const api::PodGroup& group) {
  const auto& meta = group.metadata;
  RowWriter out;
  out.text(meta.namespace_);
  out.text(meta.name);
  out.number(group.spec.minMember);
  out.text(group.status.phase);
  out.time(meta.creationTimestamp);
  out.number(group.spec.scheduleTimeoutSeconds.value_or(0));
  return {meta.namespace_ + "/" + meta.name, std::move(out).finish(), {}, {}};
}

// name, pod, phase, from, to, why, message, created, changed
Row rowOf(const api::PodMigrationJob& job) {
  const auto& meta = job.metadata;
  api::Time changed = meta.creationTimestamp;
  for (const auto& condition : job.status.conditions)
    if (condition.lastTransitionTime) changed = std::max(changed, condition.lastTransitionTime);
  std::string why = annotationOf(meta, "koordinator.sh/evict-trigger");
  if (const auto reason = annotationOf(meta, "koordinator.sh/evict-reason"); !reason.empty())
    why += (why.empty() ? "" : ": ") + reason;
  RowWriter out;
  out.text(meta.name);
  out.text(job.spec.podRef.namespace_ + "/" + job.spec.podRef.name);
  out.text(job.status.phase);
  out.text(annotationOf(meta, "descheduler.koordinator.sh/from-node"));
  out.text(job.status.nodeName.empty()
               ? annotationOf(meta, "descheduler.koordinator.sh/planned-node")
               : job.status.nodeName);
  out.text(why);
  out.text(job.status.message.empty() ? job.status.reason : job.status.message);
  out.time(meta.creationTimestamp);
  out.time(changed);
  return {meta.name, std::move(out).finish(), {}, {}};
}

// name, phase, node, allocatable, allocated, owners, users, created, expires, used once, message
Row rowOf(const api::Reservation& reservation) {
  const auto& status = reservation.status;
  std::string users;
  for (const auto& user : status.currentOwners) {
    users += users.empty() ? "[" : ",";
    appendJsonText(users, user.namespace_ + "/" + user.name);
  }
  if (!users.empty()) users += "]";
  RowWriter out;
  out.text(reservation.metadata.name);
  out.text(status.phase);
  out.text(status.nodeName);
  out.json(amountsJson(status.allocatable));
  out.json(amountsJson(status.allocated));
  out.text(ownersText(reservation));
  out.json(users);
  out.time(reservation.metadata.creationTimestamp);
  out.time(expiryOf(reservation));
  out.flag(reservation.spec.allocateOnce.value_or(true));
  out.text(reservationMessage(reservation));
  return {reservation.metadata.name, std::move(out).finish(), {}, {}};
}

}  // namespace koord::console
