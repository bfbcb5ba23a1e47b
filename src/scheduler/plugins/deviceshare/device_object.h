#pragma once

// Registers Device as a kind of objects that plugins read: the accelerators and network cards that
// koordlet finds.

#include "api/device.h"
#include "api/sharing.h"
#include "scheduler/framework/object_kind.h"

namespace koord::scheduler {

template <>
struct KindOf<api::Device> {
  static constexpr ObjectKind value{.event = EventResource::Custom,
                                    .customResource = "devices.v1alpha1.scheduling.koordinator.sh",
                                    .firstList = FirstList::BeforePods};
  // Replaces old names of resources by the current ones. Amounts and labels that many devices share
  // are stored once.
  class Reader {
   public:
    void read(api::Device& device);

   private:
    api::Sharing<api::ResourceList> amounts_;
    api::Sharing<api::StringMap> labels_;
  };
};

}  // namespace koord::scheduler
