// The informers of both kinds of PodGroups, compiled once.

#include "scheduler/framework/store_feed.h"
#include "scheduler/plugins/coscheduling/gangs.h"

namespace koord::scheduler {

template std::unique_ptr<StoreFeed> makeStoreFeed(Store<api::PodGroup>&, kube::Api&, Executor&,
                                                  Random);
template std::unique_ptr<StoreFeed> makeStoreFeed(Store<api::WorkloadPodGroup>&, kube::Api&,
                                                  Executor&, Random);

}  // namespace koord::scheduler
