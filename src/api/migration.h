#pragma once

// scheduling.koordinator.sh/v1alpha1 PodMigrationJob: the migration of one pod to another node.
//
// Values that the API server does not check (a ttl, a template) stay as the user wrote them, so
// that the reader can name an invalid field instead of losing the object.

#include "api/meta.h"

namespace koord::api {

struct MigrateReservationOptions {
  std::optional<ObjectReference> reservationRef;  // by name; it exists already
  json::value template_;                          // {metadata, spec} of a Reservation
};

struct PodMigrationJobSpec {
  bool paused = false;
  std::optional<Text> ttl;  // "5m", since the job's creation; absent or 0: no end
  Text mode;                // ReservationFirst, EvictDirectly; "" = the controller's default
  ObjectReference podRef;
  std::optional<MigrateReservationOptions> reservationOptions;
  json::value deleteOptions;  // meta/v1 DeleteOptions
};

struct PodMigrationJobCondition {
  std::string type;
  std::string status;  // True, False, Unknown
  Time lastProbeTime;
  Time lastTransitionTime;
  std::string reason;
  std::string message;
};

struct PodMigrationJobStatus {
  Text phase;  // Pending (also when empty), Running, Succeeded, Failed, Aborted
  Text status;
  std::string reason;
  std::string message;
  List<PodMigrationJobCondition> conditions;
  std::string nodeName;                   // the node that the pod moves to
  std::optional<ObjectReference> podRef;  // the pod that replaces it
};

struct PodMigrationJob {
  static constexpr ResourceType kType{"scheduling.koordinator.sh", "v1alpha1", "podmigrationjobs",
                                      "PodMigrationJob", false};
  ObjectMeta metadata;
  PodMigrationJobSpec spec;
  PodMigrationJobStatus status;
};

// The part of the scale subresource (autoscaling/v1) with the desired number of replicas.
struct ScaleSpec {
  std::int32_t replicas = 0;
};
struct Scale {
  ObjectMeta metadata;
  ScaleSpec spec;
};

}  // namespace koord::api
