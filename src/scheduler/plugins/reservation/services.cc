// HTTP endpoints about reservations, facts for explain, and metrics.

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "base/time.h"
#include "scheduler/plugins/reservation/messages.h"
#include "scheduler/plugins/reservation/plugin.h"
#include "scheduler/plugins/reservation/problems.h"
#include "scheduler/plugins/reservation/reserve_pod.h"

namespace koord::scheduler {

namespace {

json::object amounts(const Cluster& cluster, const ReservationEntry& reservation, auto&& amountOf) {
  json::object list;
  for (const auto& [name, amount] : reservation.allocatable) {
    if (name == "pods") continue;
    const auto id = cluster.resources().find(name);
    if (id) list[name] = amountText(*id, amountOf(*id));
  }
  return list;
}

// In the format of upstream's framework.Resource.
json::object resourceOf(const Cluster& cluster, const ReservationEntry& reservation,
                        auto&& amountOf) {
  json::object scalars;
  for (const auto& [id, amount] : reservation.room.scalars)
    scalars[cluster.resources().name(id)] = amountOf(id);
  return {{"MilliCPU", amountOf(kCpu)},
          {"Memory", amountOf(kMemory)},
          {"EphemeralStorage", amountOf(kEphemeralStorage)},
          {"AllowedPodNumber", reservation.pods.value_or(0)},
          {"ScalarResources", std::move(scalars)}};
}

json::array portsOf(const Cluster& cluster, const PodInfo& pod) {
  json::array ports;
  for (const HostPort& port : pod.ports) {
    ports.push_back(json::object{{"hostIP", cluster.addresses().text(port.ip)},
                                 {"protocol", cluster.addresses().text(port.protocol)},
                                 {"port", port.port}});
  }
  return ports;
}

std::string_view policyName(AllocatePolicy policy) {
  switch (policy) {
    case AllocatePolicy::Aligned:
      return "Aligned";
    case AllocatePolicy::Restricted:
      return "Restricted";
    default:
      return "";
  }
}

std::string_view phaseOf(const api::Reservation& reservation) {
  return reservation.status.phase.empty() ? std::string_view("Pending")
                                          : reservation.status.phase.view();
}

std::string label(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\\' || c == '"') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else {
      quoted += c;
    }
  }
  return quoted;
}

}  // namespace

json::object ReservationPlugin::describe(const ReservationEntry& reservation) const {
  const auto remaining = [&](ResourceId id) { return reservation.remaining(id); };
  const auto used = [&](ResourceId id) { return reservation.use->requests.amount(id); };
  const auto held = [&](ResourceId id) { return reservation.reserved.amount(id); };
  json::object item{
      {"name", reservation.name()},
      {"uid", reservation.uid()},
      {"namespace", reservation.object->metadata.namespace_},
      {"kind", reservation.operating ? "Pod" : "Reservation"},
      {"available", reservation.available},
      {"allocateOnce", reservation.allocateOnce},
      {"allocatable",
       amounts(cluster_, reservation, [&](ResourceId id) { return reservation.room.amount(id); })},
      {"reserved", amounts(cluster_, reservation, held)},
      {"allocated", amounts(cluster_, reservation, used)},
      {"availableResource", resourceOf(cluster_, reservation, remaining)},
      {"allocatedResource", resourceOf(cluster_, reservation, used)},
      {"allocatePolicy", json::string(policyName(reservation.policy))}};
  json::array owners;
  for (const auto& owner : reservation.object->spec.owners) owners.push_back(api::encode(owner));
  item["owners"] = std::move(owners);
  if (const auto* record = cluster_.findPod(reservation.uid()))
    item["allocatablePorts"] = portsOf(cluster_, *record->info);
  json::array pods, ports;
  for (const auto& [uid, owner] : reservation.use->pods) {
    const Cluster::PodRecord* record = cluster_.findPod(uid);
    if (!record || owner.node != reservation.node) continue;
    json::object requests;
    record->info->request.forEach([&](ResourceId id, std::int64_t amount) {
      if (amount != 0) requests[cluster_.resources().name(id)] = amountText(id, amount);
    });
    json::array own = portsOf(cluster_, *record->info);
    for (const auto& port : own) ports.push_back(port);
    pods.push_back(json::object{{"Namespace", record->info->pod->metadata.namespace_},
                                {"Name", record->info->pod->metadata.name},
                                {"UID", uid},
                                {"Requests", std::move(requests)},
                                {"Ports", std::move(own)}});
  }
  item["allocatedPorts"] = std::move(ports);
  item["assignedPods"] = std::move(pods);
  return item;
}

Result<json::value> ReservationPlugin::nodeReservations(const std::string& node) const {
  json::array items;
  if (const auto id = cluster_.findNode(node))
    for (const ReservationPtr& reservation : index_.on(*id))
      items.push_back(describe(*reservation));
  return json::value(json::object{{"items", std::move(items)}});
}

Result<json::value> ReservationPlugin::reservationNamed(const std::string& name) const {
  const ReservationPtr reservation = index_.named(name);
  if (!reservation)
    return fail(ErrorCode::NotFound, fmt::format("cannot find reservation {}", name));
  json::object answer = describe(*reservation);
  answer["phase"] = json::string(phaseOf(*reservation->object));
  answer["node"] = reservation->object->status.nodeName;
  answer["remaining"] =
      amounts(cluster_, *reservation, [&](ResourceId id) { return reservation->remaining(id); });
  answer["unschedulable"] = reservation->closed;
  answer["usable"] = reservation->usable();
  const auto end = endOf(*reservation->object);
  if (end && *end) answer["expires"] = formatTime(**end);
  json::array problems;
  for (const std::string& problem : problemsOf(*reservation->object))
    problems.push_back(json::string(problem));
  for (const std::string* problem : {&reservation->error, &reservation->ownersError})
    if (!problem->empty()) problems.push_back(json::string(*problem));
  answer["problems"] = std::move(problems);
  json::array conditions;
  for (const auto& condition : reservation->object->status.conditions) {
    conditions.push_back(json::object{{"type", condition.type},
                                      {"status", condition.status},
                                      {"reason", condition.reason},
                                      {"message", condition.message}});
  }
  answer["conditions"] = std::move(conditions);
  return json::value(std::move(answer));
}

std::vector<ServicePlugin::Route> ReservationPlugin::routes() {
  return {{.path = "nodeReservations/",
           .shown = "nodeReservations/:nodeName",
           .answer = [this](const std::string& node) { return nodeReservations(node); },
           .open = true},
          {"reservations/", "reservations/:name",
           [this](const std::string& name) { return reservationNamed(name); }},
          {"explain/", "explain/:namespace/:name",
           [this](const std::string& pod) { return explain(pod); }},
          {.path = "reservationSelectorIndex",
           .shown = "reservationSelectorIndex",
           .answer = {},
           .ask = [this](const std::string&, const api::StringMap& query) -> Result<json::value> {
             const std::string* detail = api::findIn(query, "detail");
             return json::value(selectorIndex_.show(detail && *detail == "true"));
           },
           .open = true}};
}

std::string ReservationPlugin::metrics() const {
  if (index_.all().empty()) return selectorIndex_.metrics();
  std::string phases =
      "# HELP scheduler_reservation_status_phase 1 for the phase that a reservation is in\n"
      "# TYPE scheduler_reservation_status_phase gauge\n";
  std::string resources =
      "# HELP scheduler_reservation_resource Amounts that a reservation reserves and that pods use "
      "of them\n"
      "# TYPE scheduler_reservation_resource gauge\n";
  const auto add = [&](std::string_view type, const ReservationEntry& reservation,
                       std::string_view resource, std::string_view unit, double value) {
    resources += fmt::format(
        "scheduler_reservation_resource{{name=\"{}\",resource=\"{}\",type=\"{}\",unit=\"{}\"}} "
        "{}\n",
        label(reservation.name()), label(resource), type, unit, value);
  };
  for (const auto& [name, reservation] : index_.all()) {
    if (reservation->operating) continue;
    const std::string_view is = phaseOf(*reservation->object);
    for (const std::string_view phase :
         {"Pending", "Available", "Waiting", "Succeeded", "Failed"}) {
      phases += fmt::format("scheduler_reservation_status_phase{{name=\"{}\",phase=\"{}\"}} {}\n",
                            label(name), phase, phase == is ? 1 : 0);
    }
    if (!reservation->available) continue;
    for (const auto& [resource, amount] : reservation->allocatable) {
      const auto id = cluster_.resources().find(resource);
      if (resource == "pods" || !id) continue;
      const bool cores = *id == kCpu;
      const bool bytes = *id == kMemory || *id == kEphemeralStorage;
      const double scale = cores ? 1000 : bytes ? 1024.0 * 1024 * 1024 : 1;
      const std::string_view unit = cores ? "core" : bytes ? "Gi" : "raw";
      const auto all = static_cast<double>(reservation->room.amount(*id));
      const auto used = static_cast<double>(reservation->use->requests.amount(*id));
      add("allocatable", *reservation, resource, unit, all / scale);
      add("allocated", *reservation, resource, unit, used / scale);
      if (all > 0) add("utilization", *reservation, resource, "ratio", used / all);
    }
  }
  return phases + resources + selectorIndex_.metrics();
}

}  // namespace koord::scheduler
