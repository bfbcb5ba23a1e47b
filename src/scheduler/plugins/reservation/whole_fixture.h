#pragma once

// A whole scheduler with reservations, on an API that stores them, on virtual time.

#include "scheduler/core/scheduler_fixture.h"
#include "scheduler/plugins/nodenumaresource/numa_builders.h"
#include "scheduler/plugins/nodenumaresource/numa_table.h"
#include "scheduler/plugins/reservation/fixture.h"
#include "scheduler/plugins/reservation/reservation_object.h"

namespace koord::scheduler::testing {

inline void merge(json::value& into, const json::value& patch) {
  if (!patch.is_object()) {
    into = patch;
    return;
  }
  if (!into.is_object()) into = json::object{};
  for (const auto& member : patch.get_object()) {
    if (member.value().is_null()) {
      into.get_object().erase(member.key());
    } else {
      merge(into.get_object()[member.key()], member.value());
    }
  }
}

inline SchedulerConfiguration withReservations(const std::string& args = "") {
  std::string yaml = kWithReservations;
  if (!args.empty()) yaml += "  pluginConfig: [{name: Reservation, args: " + args + "}]\n";
  auto configuration = parseConfiguration(yaml);
  EXPECT_TRUE(configuration) << (configuration ? "" : configuration.error().message);
  return *std::move(configuration);
}

// Pods and reservations get amounts by NUMA node if a node has the policy for it.
inline SchedulerConfiguration withNumaNodes() {
  std::string yaml = kWithReservations;
  yaml.replace(yaml.find("{name: Reservation}"), 0, "{name: NodeNUMAResource}, ");
  return parseConfiguration(yaml).value();
}

struct WholeWithReservations : SchedulerFixture {
  std::map<std::string, std::shared_ptr<const api::Reservation>> reservations;
  int statusWrites = 0;
  int version = 100;
  std::function<Result<>(const kube::Request&)> beforeWrite;

  explicit WholeWithReservations(const std::string& args = "")
      : WholeWithReservations(withReservations(args)) {}
  explicit WholeWithReservations(SchedulerConfiguration configuration)
      : SchedulerFixture(std::move(configuration)) {
    api.answer = [this](const kube::Request& request) {
      return request.resource == "reservations" ? answerReservation(request) : answer(request);
    };
    scheduler->start();
  }
  using SchedulerFixture::create;

  Result<std::string> answerReservation(const kube::Request& request) {
    const auto found = reservations.find(request.name);
    if (found == reservations.end())
      return fail(ErrorCode::NotFound, "reservations \"" + request.name + "\" not found");
    if (request.verb == kube::Verb::Get) return toJson(api::encodeObject(*found->second));
    if (beforeWrite)
      if (auto refused = beforeWrite(request); !refused) return fail(refused.error());
    const auto body = parseJson(request.body);
    if (request.verb == kube::Verb::Delete) {
      removeReservation(request.name);
      return "{}";
    }
    const std::string_view expected = textAt(*body, "metadata", "resourceVersion");
    if (!expected.empty() && expected != found->second->metadata.resourceVersion)
      return fail(ErrorCode::Conflict, "the object has been modified");
    json::value document = api::encodeObject(*found->second);
    if (const auto* status = at(*body, "status"); status && request.subresource == "status") {
      merge(document.get_object()["status"], *status);
      ++statusWrites;
    } else if (request.subresource.empty()) {
      const auto* added = at(*body, "metadata", "annotations");
      if (added) merge(document.get_object()["metadata"].get_object()["annotations"], *added);
    }
    auto after = api::decode<api::Reservation>(document);
    EXPECT_TRUE(after) << (after ? "" : after.error().message);
    after->metadata.resourceVersion = std::to_string(++version);
    put(std::make_shared<const api::Reservation>(*after));
    return toJson(api::encodeObject(*after));
  }
  void put(std::shared_ptr<const api::Reservation> object) {
    reservations[object->metadata.name] = object;
    loop.post([this, object] { scheduler->stores().of<api::Reservation>().set(object); });
  }
  void reserve(ReservationBuilder reservation) {
    if (!reservation.object().metadata.creationTimestamp)
      reservation.object().metadata.creationTimestamp = loop.wallNow();
    reservation.version(std::to_string(++version));
    put(reservation.build());
    run();
  }
  void removeReservation(const std::string& name) {
    reservations.erase(name);
    loop.post([this, name] { scheduler->stores().of<api::Reservation>().erase({"", name}); });
  }
  const api::ReservationStatus& status(const std::string& name) {
    return reservations.at(name)->status;
  }
  std::string condition(const std::string& name, const std::string& type) {
    for (const auto& condition : status(name).conditions)
      if (condition.type == type) return condition.status + " " + condition.reason;
    return "";
  }
  std::string annotation(const std::string& pod) {
    const auto* text =
        api::findIn(pods.at(pod)->metadata.annotations, model::kAnnotationReservationAllocated);
    return text ? *text : "";
  }
  // The allocation in the reservation's annotation.
  std::string holdings(const std::string& name) {
    const auto* text =
        api::findIn(reservations.at(name)->metadata.annotations, model::kAnnotationResourceStatus);
    return text ? *text : "nothing";
  }
  // The allocation that the scheduler counts.
  std::string counted(const std::string& uid) {
    const NumaGrant* grant = nullptr;
    for (const Ledger* ledger : scheduler->cluster().ledgers())
      if (const auto* table = dynamic_cast<const NumaTable*>(ledger)) grant = table->grantOf(uid);
    return grant ? resourceStatusText(scheduler->cluster().resources(), *grant) : "nothing";
  }
  // Another writer sets the reservation's allocation.
  void claim(const std::string& name, const std::string& holdings, const std::string& node = "") {
    api::Reservation changed = *reservations.at(name);
    changed.metadata.resourceVersion = std::to_string(++version);
    changed.metadata.annotations[model::kAnnotationResourceStatus] = holdings;
    if (!node.empty()) {
      changed.status.phase = "Available";
      changed.status.nodeName = node;
    }
    put(std::make_shared<const api::Reservation>(std::move(changed)));
  }
  // A node of two NUMA nodes with 8 CPUs each.
  void machine(const std::string& name) {
    node(testing::nodeOf(name, {}).label(std::string(kLabelNumaPolicy), "SingleNUMANode"));
    scheduler->stores().of<CpuReport>().set(asReported(*topologyOf(name, {})));
  }
  void again() {
    create();  // a new scheduler, pods before reservations
    for (const auto& [name, pod] : pods) scheduler->podAdded(pod);
  }
  void expectSound() {
    const Cluster& cluster = scheduler->cluster();
    cluster.live().forEach([&](NodeId node) { EXPECT_EQ(cluster.verifyNode(node), ""); });
  }
};

}  // namespace koord::scheduler::testing
