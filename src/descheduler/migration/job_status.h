#pragma once

// Reads and changes the status of a PodMigrationJob. Pure.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/migration.h"
#include "base/result.h"

namespace koord::descheduler {

using JobPtr = std::shared_ptr<const api::PodMigrationJob>;

namespace phase {
inline constexpr const char* kPending = "Pending";
inline constexpr const char* kRunning = "Running";
inline constexpr const char* kSucceeded = "Succeeded";
inline constexpr const char* kFailed = "Failed";
inline constexpr const char* kAborted = "Aborted";
}  // namespace phase

namespace condition {
inline constexpr const char* kReservationCreated = "ReservationCreated";
inline constexpr const char* kReservationScheduled = "ReservationScheduled";
inline constexpr const char* kEviction = "Eviction";
inline constexpr const char* kPodScheduled = "PodScheduled";
inline constexpr const char* kPodBoundReservation = "PodBoundReservation";
inline constexpr const char* kBoundPodReady = "BoundPodReady";
inline constexpr const char* kReservationBound = "ReservationBound";
}  // namespace condition

namespace reason {
inline constexpr const char* kTimeout = "Timeout";
inline constexpr const char* kFailedCreateReservation = "FailedCreateReservation";
inline constexpr const char* kReservationExpired = "ReservationExpired";
inline constexpr const char* kUnschedulable = "Unschedulable";
inline constexpr const char* kForbidden = "ForbiddenMigratePod";
inline constexpr const char* kMissingPod = "MissingPod";
inline constexpr const char* kMissingReservation = "MissingReservation";
inline constexpr const char* kInvalidPodRef = "InvalidPodRef";
inline constexpr const char* kInvalidSpec = "InvalidSpec";
inline constexpr const char* kEvicting = "Evicting";
inline constexpr const char* kEvictComplete = "EvictComplete";
inline constexpr const char* kWaitForPodBind = "WaitForPodBindReservation";
inline constexpr const char* kWaitForBoundPodReady = "WaitForBoundPodReady";
// Not in upstream: a pending job waits for arbitration; other jobs that it moves together with have
// failed.
inline constexpr const char* kWaiting = "WaitingForArbitration";
inline constexpr const char* kGangBroken = "GangCannotMove";
// A running job waits for its turn to evict.
inline constexpr const char* kWaitingForTurn = "WaitingForTurn";
}  // namespace reason

bool isPending(const api::PodMigrationJob& job);  // also with an empty phase
bool isRunning(const api::PodMigrationJob& job);
bool isOver(const api::PodMigrationJob& job);
bool hasPassedArbitration(const api::PodMigrationJob& job);
// The job's pod as namespace/name; empty fields if the job has none.
api::ObjectKey podKeyOf(const api::PodMigrationJob& job);
// "" if it has none.
std::string_view annotationOf(const api::PodMigrationJob& job, std::string_view key);
// The job's evict-reason, else evict-trigger, else "NotSet".
std::string evictReasonOf(const api::PodMigrationJob& job);

// nullopt: no TTL. The error names the field.
Result<std::optional<Duration>> ttlOf(const api::PodMigrationJob& job);
// The error of a job with an invalid spec: reason and message; empty if it is valid.
struct SpecError {
  const char* reason = "";
  std::string message;
};
SpecError specErrorOf(const api::PodMigrationJob& job);

const api::PodMigrationJobCondition* conditionOf(const api::PodMigrationJobStatus& status,
                                                 std::string_view type);
bool isTrue(const api::PodMigrationJobStatus& status, std::string_view type);

// Adds or replaces a condition; if it changed, also sets the job's status, reason and message.
// Returns false if nothing changed and nothing must be written. lastTransitionTime stays while the
// condition's status is unchanged.
bool setCondition(api::PodMigrationJobStatus& status, std::string type, bool isTrue,
                  std::string reason, std::string message, WallTime now);
// Sets the phase, reason and message.
void setPhase(api::PodMigrationJobStatus& status, const char* phase, std::string reason,
              std::string message);

}  // namespace koord::descheduler
