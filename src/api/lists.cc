#include "api/core.h"
#include "api/pod.h"

namespace koord::api {

template class List<LabelSelectorRequirement>;
template class List<OwnerReference>;
template class List<StatusCause>;
template class List<std::string>;
template class List<Affinity>;
template class List<Container>;
template class List<ContainerPort>;
template class List<ContainerStatus>;
template class List<EnvVar>;
template class List<NodeSelectorRequirement>;
template class List<NodeSelectorTerm>;
template class List<PodAffinityTerm>;
template class List<PodCondition>;
template class List<PodIP>;
template class List<PodResourceClaim>;
template class List<PodResourceClaimStatus>;
template class List<PodSchedulingGate>;
template class List<PodSchedulingGroup>;
template class List<PreferredSchedulingTerm>;
template class List<ResourceClaimUse>;
template class List<ResourceRequirements>;
template class List<Toleration>;
template class List<TopologySpreadConstraint>;
template class List<Volume>;
template class List<WeightedPodAffinityTerm>;
template class List<Condition>;
template class List<ContainerImage>;
template class List<NodeAddress>;
template class List<NodeCondition>;
template class List<Taint>;

}  // namespace koord::api
