#pragma once

// Labels and annotations of PodMigrationJobs, their pods and their Reservations. Upstream's are
// first; the others keep the inputs of a job, so that the jobs are the only state.

#include <string_view>

namespace koord::descheduler {

inline constexpr std::string_view kAnnotationEvictReason = "koordinator.sh/evict-reason";
inline constexpr std::string_view kAnnotationEvictTrigger = "koordinator.sh/evict-trigger";
// The creator of the job. Other controllers ignore it.
inline constexpr std::string_view kAnnotationJobCreatedBy = "koordinator.sh/job-created-by";
inline constexpr std::string_view kAnnotationPassedArbitration =
    "descheduler.koordinator.sh/passed-arbitration";
inline constexpr std::string_view kLabelEvictPolicy = "koordinator.sh/evict-policy";
inline constexpr std::string_view kAnnotationSoftEviction =
    "scheduling.koordinator.sh/soft-eviction";
inline constexpr std::string_view kLabelCreatedBy = "app.kubernetes.io/created-by";
inline constexpr std::string_view kCreatedBy = "koord-descheduler";

// On jobs: the pod's old node, the uid of its controller, its predicted node and the source of the
// prediction, and its gang and the gang's size.
inline constexpr std::string_view kAnnotationFromNode = "descheduler.koordinator.sh/from-node";
inline constexpr std::string_view kAnnotationWorkload = "descheduler.koordinator.sh/workload";
inline constexpr std::string_view kAnnotationPlannedNode =
    "descheduler.koordinator.sh/planned-node";
inline constexpr std::string_view kAnnotationPlannedBy = "descheduler.koordinator.sh/planned-by";
// Other nodes to avoid, separated by commas: pods of its workload left them recently, their arrival
// limit is reached, or a prediction of them failed.
inline constexpr std::string_view kAnnotationAvoidNodes = "descheduler.koordinator.sh/avoid-nodes";
inline constexpr std::string_view kAnnotationMoveTogether =
    "descheduler.koordinator.sh/moves-together";
inline constexpr std::string_view kAnnotationMoveTogetherSize =
    "descheduler.koordinator.sh/moves-together-size";
// "namespace/name/uid" of the pod that waits for a node, for which the pod moves.
inline constexpr std::string_view kAnnotationBeneficiary = "descheduler.koordinator.sh/moves-for";

}  // namespace koord::descheduler
