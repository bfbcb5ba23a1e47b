#pragma once

// Labels and annotations of PodMigrationJobs, their pods and their Reservations. Those of upstream first; ours
// say what a job is derived from, so that nothing but the jobs has to be remembered.

#include <string_view>

namespace koord::descheduler {

inline constexpr std::string_view kAnnotationEvictReason = "koordinator.sh/evict-reason";
inline constexpr std::string_view kAnnotationEvictTrigger = "koordinator.sh/evict-trigger";
// Who made the job. Others leave it alone.
inline constexpr std::string_view kAnnotationJobCreatedBy = "koordinator.sh/job-created-by";
inline constexpr std::string_view kAnnotationPassedArbitration =
    "descheduler.koordinator.sh/passed-arbitration";
inline constexpr std::string_view kLabelEvictPolicy = "koordinator.sh/evict-policy";
inline constexpr std::string_view kAnnotationSoftEviction =
    "scheduling.koordinator.sh/soft-eviction";
inline constexpr std::string_view kLabelCreatedBy = "app.kubernetes.io/created-by";
inline constexpr std::string_view kCreatedBy = "koord-descheduler";

// Of jobs: the node that the pod leaves, the uid of its controller, where it is expected to land and who said
// so, and which gang it moves with, of how many.
inline constexpr std::string_view kAnnotationFromNode = "descheduler.koordinator.sh/from-node";
inline constexpr std::string_view kAnnotationWorkload = "descheduler.koordinator.sh/workload";
inline constexpr std::string_view kAnnotationPlannedNode =
    "descheduler.koordinator.sh/planned-node";
inline constexpr std::string_view kAnnotationPlannedBy = "descheduler.koordinator.sh/planned-by";
// Nodes besides the first that it is not to land on, since pods of its workload left them lately, as many are on
// their way there as may be, or it was promised in vain; with commas.
inline constexpr std::string_view kAnnotationAvoidNodes = "descheduler.koordinator.sh/avoid-nodes";
inline constexpr std::string_view kAnnotationMoveTogether =
    "descheduler.koordinator.sh/moves-together";
inline constexpr std::string_view kAnnotationMoveTogetherSize =
    "descheduler.koordinator.sh/moves-together-size";

}  // namespace koord::descheduler
