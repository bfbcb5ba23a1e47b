// Informers of the built-in kinds, compiled once.

#include "scheduler/framework/store_feed.h"

namespace koord::scheduler {

using Feed = std::unique_ptr<StoreFeed>;
using kube::Api;

template Feed makeStoreFeed(Store<api::Namespace>&, Api&, Executor&, Random);
template Feed makeStoreFeed(Store<api::PodDisruptionBudget>&, Api&, Executor&, Random);
template Feed makeStoreFeed(Store<api::Service>&, Api&, Executor&, Random);
template Feed makeStoreFeed(Store<api::ReplicationControllerSelection>&, Api&, Executor&, Random);
template Feed makeStoreFeed(Store<api::ReplicaSetSelection>&, Api&, Executor&, Random);
template Feed makeStoreFeed(Store<api::StatefulSetSelection>&, Api&, Executor&, Random);
template Feed makeStoreFeed(Store<api::PersistentVolume>&, Api&, Executor&, Random);
template Feed makeStoreFeed(Store<api::PersistentVolumeClaim>&, Api&, Executor&, Random);
template Feed makeStoreFeed(Store<api::StorageClass>&, Api&, Executor&, Random);
template Feed makeStoreFeed(Store<api::CSINode>&, Api&, Executor&, Random);
template Feed makeStoreFeed(Store<api::CSIDriver>&, Api&, Executor&, Random);
template Feed makeStoreFeed(Store<api::CSIStorageCapacity>&, Api&, Executor&, Random);
template Feed makeStoreFeed(Store<api::VolumeAttachment>&, Api&, Executor&, Random);

}  // namespace koord::scheduler
