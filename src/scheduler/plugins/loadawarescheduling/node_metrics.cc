#include "scheduler/plugins/loadawarescheduling/node_metrics.h"

#include "scheduler/framework/store_feed.h"

namespace koord::scheduler {

template std::unique_ptr<StoreFeed> makeStoreFeed(Store<api::NodeMetric>&, kube::Api&, Executor&,
                                                  Random);

}  // namespace koord::scheduler
