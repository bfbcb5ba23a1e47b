#include "scheduler/testing/small_objects.h"

#include "api/codec_impl.h"
#include "api/describe_meta.h"
#include "scheduler/framework/store_feed.h"

namespace koord::scheduler::testing {

BOOST_DESCRIBE_STRUCT(HoldSpec, (), (team, requests, priority))
BOOST_DESCRIBE_STRUCT(HoldStatus, (), (nodeName, message))
BOOST_DESCRIBE_STRUCT(Hold, (), (metadata, spec, status))
BOOST_DESCRIBE_STRUCT(AllowanceSpec, (), (milliCpu))
BOOST_DESCRIBE_STRUCT(AllowanceLimit, (), (metadata, spec))

}  // namespace koord::scheduler::testing

KOORD_OBJECT_CODEC(koord::scheduler::testing::Hold)
KOORD_OBJECT_CODEC(koord::scheduler::testing::AllowanceLimit)

namespace koord::scheduler {

template std::unique_ptr<StoreFeed> makeStoreFeed(Store<testing::Hold>&, kube::Api&, Executor&,
                                                  Random);
template std::unique_ptr<StoreFeed> makeStoreFeed(Store<testing::AllowanceLimit>&, kube::Api&,
                                                  Executor&, Random);

}  // namespace koord::scheduler
