#pragma once

// ObjectKind: what the framework has to know of a kind of API objects before plugins can look at
// them. A plugin that brings a kind of its own says this once, beside the plugin:
//
//   template <>
//   struct KindOf<api::Device> {
//     static constexpr ObjectKind value{.event = EventResource::Custom,
//                                       .customResource =
//                                       "devices.v1alpha1.scheduling.koordinator.sh", .firstList =
//                                       FirstList::BeforePods};
//   };

#include <cstdint>
#include <optional>
#include <string_view>

namespace koord::scheduler {

enum class EventResource : std::uint8_t {
  Pod,  // in a registration: assigned and unscheduled pods
  AssignedPod,
  UnscheduledPod,
  Node,
  PersistentVolumeClaim,
  PersistentVolume,
  StorageClass,
  CSINode,
  CSIDriver,
  CSIStorageCapacity,
  VolumeAttachment,
  Custom,    // any other resource, named in customResource
  Wildcard,  // everything
};

// When the objects that exist at start are read. Pods are read after what their records are worked
// out from (a node's CPU topology, its devices), so that nothing is worked out twice.
enum class FirstList : std::uint8_t { BeforePods, AnyTime };

struct ObjectKind {
  // As what its changes wake waiting pods; absent: no plugin can be waiting for it.
  std::optional<EventResource> event;
  std::string_view customResource;  // with Custom: "plural.version.group"
  FirstList firstList = FirstList::AnyTime;
  // Not every API server has the kind, or lets us read it: then there are no objects.
  bool optional = false;
};

// Specialised for every kind that is kept. It may have a class Reader, whose read(T&) changes an object before it is
// kept: what is read differently than it stands in the API, what is dropped, and what is held once for many.
template <class T>
struct KindOf;

}  // namespace koord::scheduler
