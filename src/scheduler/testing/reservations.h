#pragma once

// Builder of Reservations for tests:
//
//   aReservation("r").request("cpu", "4").owner("app", "web").on("n1").build()

#include "api/reservation.h"
#include "base/json.h"
#include "scheduler/testing/builders.h"

namespace koord::scheduler::testing {

class ReservationBuilder {
 public:
  explicit ReservationBuilder(std::string name) {
    object_.metadata.name = std::move(name);
    object_.metadata.uid = "uid-" + object_.metadata.name;
    object_.metadata.resourceVersion = "1";
    object_.spec.ttl = "24h";
    object_.spec.allocateOnce = false;
    object_.spec.allocatePolicy = "Aligned";
  }
  ReservationBuilder& request(const std::string& resource, const std::string& amount) {
    requests_[resource] = amount;
    object_.status.allocatable[resource] = quantity(amount);
    return *this;
  }
  ReservationBuilder& hostPort(int port) {
    ports_.push_back(json::object{{"hostPort", port}, {"containerPort", port}});
    return *this;
  }
  // Pods with this label; each call is an alternative.
  ReservationBuilder& owner(const std::string& label, std::string value) {
    object_.spec.owners.emplace_back().labelSelector.emplace().matchLabels[label] =
        std::move(value);
    return *this;
  }
  ReservationBuilder& policy(std::string policy) {
    object_.spec.allocatePolicy = policy;
    return *this;
  }
  ReservationBuilder& once() {
    object_.spec.allocateOnce = true;
    return *this;
  }
  ReservationBuilder& label(const std::string& key, std::string value) {
    object_.metadata.labels[key] = std::move(value);
    return *this;
  }
  ReservationBuilder& annotation(const std::string& key, std::string value) {
    object_.metadata.annotations[key] = std::move(value);
    return *this;
  }
  ReservationBuilder& taint(std::string key, std::string value = "") {
    object_.spec.taints.push_back({std::move(key), std::move(value), "NoSchedule", {}});
    return *this;
  }
  ReservationBuilder& on(std::string node) {
    object_.status.nodeName = std::move(node);
    object_.status.phase = "Available";
    return *this;
  }
  ReservationBuilder& phase(std::string phase) {
    object_.status.phase = phase;
    return *this;
  }
  ReservationBuilder& version(std::string resourceVersion) {
    object_.metadata.resourceVersion = std::move(resourceVersion);
    return *this;
  }
  // Sets labels, affinity and other fields of the reserve pod.
  json::object& templateMetadata() { return metadata_; }
  json::object& templateSpec() { return spec_; }
  api::Reservation& object() { return object_; }
  std::shared_ptr<const api::Reservation> build() const {
    auto built = std::make_shared<api::Reservation>(object_);
    if (!built->spec.template_.is_null()) return built;
    json::object container{{"name", "main"}};
    container["resources"] = json::object{{"requests", requests_}};
    if (!ports_.empty()) container["ports"] = ports_;
    json::object spec = spec_;
    spec["containers"] = json::array{std::move(container)};
    built->spec.template_ = json::object{{"metadata", metadata_}, {"spec", std::move(spec)}};
    if (built->status.nodeName.empty()) built->status.allocatable = {};
    return built;
  }

 private:
  api::Reservation object_;
  json::object requests_;
  json::array ports_;
  json::object metadata_;
  json::object spec_;
};

inline ReservationBuilder aReservation(std::string name) {
  return ReservationBuilder(std::move(name));
}

}  // namespace koord::scheduler::testing
