#pragma once

// Device as a kind that plugins look at: what koordlet finds of accelerators and network cards.

#include "api/device.h"
#include "api/sharing.h"
#include "scheduler/framework/object_kind.h"

namespace koord::scheduler {

template <>
struct KindOf<api::Device> {
  static constexpr ObjectKind value{.event = EventResource::Custom,
                                    .customResource = "devices.v1alpha1.scheduling.koordinator.sh",
                                    .firstList = FirstList::BeforePods};
  // Old names of resources become those of today; amounts and labels, which are those of many
  // devices, are held once.
  class Reader {
   public:
    void read(api::Device& device);

   private:
    api::Sharing<api::ResourceList> amounts_;
    api::Sharing<api::StringMap> labels_;
  };
};

}  // namespace koord::scheduler
