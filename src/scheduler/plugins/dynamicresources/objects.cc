#include "scheduler/plugins/dynamicresources/objects.h"

#include "scheduler/framework/store_feed.h"

namespace koord::scheduler {

template std::unique_ptr<StoreFeed> makeStoreFeed(Store<api::ResourceClaim>&, kube::Api&, Executor&,
                                                  Random);
template std::unique_ptr<StoreFeed> makeStoreFeed(Store<api::ResourceSlice>&, kube::Api&, Executor&,
                                                  Random);
template std::unique_ptr<StoreFeed> makeStoreFeed(Store<api::DeviceClass>&, kube::Api&, Executor&,
                                                  Random);
template std::unique_ptr<StoreFeed> makeStoreFeed(Store<api::DeviceTaintRule>&, kube::Api&,
                                                  Executor&, Random);

}  // namespace koord::scheduler
