#include "descheduler/migration/job_status.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/time.h"
#include "descheduler/migration/keys.h"

namespace koord::descheduler {

namespace {

constexpr Duration kLongestTtl = std::chrono::hours(24 * 365 * 10);

}  // namespace

bool isPending(const api::PodMigrationJob& job) {
  return job.status.phase.empty() || job.status.phase == phase::kPending;
}

bool isRunning(const api::PodMigrationJob& job) {
  return job.status.phase == phase::kRunning;
}

bool isOver(const api::PodMigrationJob& job) {
  return !isPending(job) && !isRunning(job);
}

bool hasPassedArbitration(const api::PodMigrationJob& job) {
  return annotationOf(job, kAnnotationPassedArbitration) == "true";
}

api::ObjectKey podKeyOf(const api::PodMigrationJob& job) {
  return {job.spec.podRef.namespace_, job.spec.podRef.name};
}

std::string_view annotationOf(const api::PodMigrationJob& job, std::string_view key) {
  const std::string* value = api::findIn(job.metadata.annotations, key);
  return value ? std::string_view(*value) : std::string_view();
}

std::string evictReasonOf(const api::PodMigrationJob& job) {
  for (const auto key : {kAnnotationEvictReason, kAnnotationEvictTrigger})
    if (const auto text = annotationOf(job, key); !text.empty()) return std::string(text);
  return "NotSet";
}

Result<std::optional<Duration>> ttlOf(const api::PodMigrationJob& job) {
  if (!job.spec.ttl || job.spec.ttl->empty()) return std::optional<Duration>();
  auto ttl = parseDuration(job.spec.ttl->view());
  if (!ttl) return fail(Error(std::move(ttl.error())).within("spec.ttl"));
  if (*ttl < Duration::zero())
    return fail(ErrorCode::Invalid, fmt::format("spec.ttl: {} is negative", job.spec.ttl->view()));
  if (*ttl == Duration::zero()) return std::optional<Duration>();
  // Limited so that sums with it do not overflow.
  return std::optional<Duration>(std::min<Duration>(*ttl, kLongestTtl));
}

SpecError specErrorOf(const api::PodMigrationJob& job) {
  const auto& reference = job.spec.podRef;
  if (reference.namespace_.empty() || reference.name.empty())
    return {reason::kInvalidPodRef, "Abort job caused by invalid PodRef"};
  const auto mode = job.spec.mode.view();
  if (!mode.empty() && mode != "ReservationFirst" && mode != "EvictDirectly") {
    return {reason::kInvalidSpec,
            fmt::format("spec.mode: \"{}\" is neither ReservationFirst nor EvictDirectly", mode)};
  }
  if (const auto ttl = ttlOf(job); !ttl) return {reason::kInvalidSpec, ttl.error().message};
  if (const auto& options = job.spec.deleteOptions; !options.is_null() && !options.is_object())
    return {reason::kInvalidSpec, "spec.deleteOptions: must be an object"};
  if (job.spec.reservationOptions) {
    const auto& given = *job.spec.reservationOptions;
    if (!given.template_.is_null() && !given.template_.is_object())
      return {reason::kInvalidSpec, "spec.reservationOptions.template: must be an object"};
    if (given.reservationRef && given.reservationRef->name.empty())
      return {reason::kInvalidSpec, "spec.reservationOptions.reservationRef.name: is missing"};
  }
  return {};
}

const api::PodMigrationJobCondition* conditionOf(const api::PodMigrationJobStatus& status,
                                                 std::string_view type) {
  const auto it = std::ranges::find(status.conditions, type, &api::PodMigrationJobCondition::type);
  return it == status.conditions.end() ? nullptr : it;
}

bool isTrue(const api::PodMigrationJobStatus& status, std::string_view type) {
  const auto* found = conditionOf(status, type);
  return found && found->status == "True";
}

bool setCondition(api::PodMigrationJobStatus& status, std::string type, bool isTrue,
                  std::string reason, std::string message, WallTime now) {
  const std::string value = isTrue ? "True" : "False";
  auto it = std::ranges::find(status.conditions, type, &api::PodMigrationJobCondition::type);
  if (it != status.conditions.end() && it->status == value && it->reason == reason &&
      it->message == message)
    return false;
  if (it == status.conditions.end()) {
    status.conditions.emplace_back().type = type;
    it = status.conditions.end() - 1;
  }
  if (it->status != value) it->lastTransitionTime = now;
  it->status = value;
  it->reason = reason;
  it->message = message;
  status.status = type;
  status.reason = std::move(reason);
  status.message = std::move(message);
  return true;
}

void setPhase(api::PodMigrationJobStatus& status, const char* phase, std::string reason,
              std::string message) {
  status.phase = phase;
  if (status.phase == phase::kSucceeded) status.status = "Complete";
  status.reason = std::move(reason);
  status.message = std::move(message);
}

}  // namespace koord::descheduler
