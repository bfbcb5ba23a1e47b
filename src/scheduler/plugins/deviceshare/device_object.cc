#include "scheduler/plugins/deviceshare/device_object.h"

#include "scheduler/framework/store_feed.h"
#include "scheduler/framework/transforms.h"

namespace koord::scheduler {

void KindOf<api::Device>::Reader::read(api::Device& device) {
  for (api::DeviceInfo& info : device.spec.devices) {
    renameDeviceResources(info.resources);
    amounts_.share(info.resources);
    labels_.share(info.labels);
  }
}

template std::unique_ptr<StoreFeed> makeStoreFeed(Store<api::Device>&, kube::Api&, Executor&,
                                                  Random);

}  // namespace koord::scheduler
