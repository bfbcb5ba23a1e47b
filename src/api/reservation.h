#pragma once

// scheduling.koordinator.sh/v1alpha1 Reservation: resources of a node that are reserved for future
// pods.
//
// Values that the API server does not check (the template, texts of times) stay as the user wrote
// them, so that the reader can name an invalid field instead of losing the object.

#include "api/core.h"
#include "api/meta.h"

namespace koord::api {

// An owner reference; fields that are not set match anything.
struct ReservationControllerReference {
  std::string apiVersion;
  std::string kind;
  std::string name;
  std::string uid;
  std::optional<bool> controller;
  std::string namespace_;
};

// Which pods may use the reservation. All fields that are set must match.
struct ReservationOwner {
  std::optional<ObjectReference> object;
  std::optional<ReservationControllerReference> controller;
  std::optional<LabelSelector> labelSelector;
};

struct PreAllocationPolicy {
  Text mode;  // Default, Cluster
  bool enableMultiple = false;
};

struct ReservationSpec {
  json::value template_;  // PodTemplateSpec
  List<ReservationOwner> owners;
  std::optional<Text> ttl;      // "24h"; "0s": it never expires
  std::optional<Text> expires;  // RFC 3339
  bool preAllocation = false;
  std::optional<PreAllocationPolicy> preAllocationPolicy;
  std::optional<bool> allocateOnce;  // absent: true
  Text allocatePolicy;               // "", Aligned, Restricted
  bool unschedulable = false;
  List<Taint> taints;
};

struct ReservationCondition {
  std::string type;    // Scheduled, Ready
  std::string status;  // True, False, Unknown
  std::string reason;
  std::string message;
  Time lastProbeTime;
  Time lastTransitionTime;
};

struct ReservationStatus {
  Text phase;  // Pending (also when empty), Available, Waiting, Succeeded, Failed
  List<ReservationCondition> conditions;
  List<ObjectReference> currentOwners;  // by uid
  std::string nodeName;
  ResourceList allocatable;
  ResourceList allocated;
};

struct Reservation {
  static constexpr ResourceType kType{"scheduling.koordinator.sh", "v1alpha1", "reservations",
                                      "Reservation", false};
  ObjectMeta metadata;
  ReservationSpec spec;
  ReservationStatus status;
};

// --- JSON in annotations of pods and reservations.

// scheduling.koordinator.sh/reservation-affinity
struct ReservationSelectorTerms {
  List<NodeSelectorTerm> reservationSelectorTerms;
};
struct ReservationAffinity {
  std::string name;
  std::optional<ReservationSelectorTerms> requiredDuringSchedulingIgnoredDuringExecution;
  StringMap reservationSelector;
  List<Toleration> tolerations;
};
// scheduling.koordinator.sh/exact-match-reservation
struct ExactMatchReservation {
  List<std::string> resourceNames;
};
// scheduling.koordinator.sh/reservation-allocated
struct ReservationAllocated {
  std::string name;
  std::string uid;
};
// scheduling.koordinator.sh/reservation-restricted-options
struct ReservationRestrictedOptions {
  List<std::string> resources;
};
// scheduling.koordinator.sh/reservation-resize-allocatable
struct ReservationResizeAllocatable {
  ResourceList resources;
};

}  // namespace koord::api
