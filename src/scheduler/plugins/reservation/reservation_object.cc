#include "scheduler/plugins/reservation/reservation_object.h"

#include "scheduler/framework/store_feed.h"

namespace koord::scheduler {

template std::unique_ptr<StoreFeed> makeStoreFeed(Store<api::Reservation>&, kube::Api&, Executor&,
                                                  Random);

}  // namespace koord::scheduler
