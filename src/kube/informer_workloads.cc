#include "api/workloads.h"
#include "kube/informer.h"

namespace koord::kube {

template class Informer<api::ControllerRevision>;
template class Informer<api::CronJob>;
template class Informer<api::DaemonSet>;
template class Informer<api::Deployment>;
template class Informer<api::Job>;
template class Informer<api::ReplicaSet>;
template class Informer<api::StatefulSet>;

}  // namespace koord::kube
