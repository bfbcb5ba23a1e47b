#include "api/core.h"
#include "api/pod.h"
#include "api/slo.h"
#include "kube/informer.h"

namespace koord::kube {

template class Informer<api::Lease>;
template class Informer<api::Namespace>;
template class Informer<api::Node>;
template class Informer<api::NodeMetric>;
template class Informer<api::Pod>;
template class Informer<api::PodDisruptionBudget>;

}  // namespace koord::kube
