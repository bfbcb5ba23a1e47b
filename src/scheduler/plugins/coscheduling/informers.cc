// The informer of PodGroups, compiled once.

#include "scheduler/framework/store_feed.h"
#include "scheduler/plugins/coscheduling/gangs.h"

namespace koord::scheduler {

template std::unique_ptr<StoreFeed> makeStoreFeed(Store<api::PodGroup>&, kube::Api&, Executor&,
                                                  Random);

}  // namespace koord::scheduler
