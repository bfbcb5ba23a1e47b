#include "scheduler/plugins/nodenumaresource/topology_object.h"

#include "scheduler/framework/store_feed.h"

namespace koord::scheduler {

template std::unique_ptr<StoreFeed> makeStoreFeed(Store<api::NodeResourceTopology>&, kube::Api&,
                                                  Executor&, Random);

}  // namespace koord::scheduler
