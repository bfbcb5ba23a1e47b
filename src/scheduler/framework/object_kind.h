#pragma once

// ObjectKind: what the framework must know about a kind of API objects before plugins can read
// them. A plugin that adds a kind defines this beside the plugin:
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
  ResourceClaim,
  ResourceSlice,
  DeviceClass,
  Custom,    // any other resource, named in customResource
  Wildcard,  // everything
};

// When the objects that exist at start are read. Pods are read after the objects that their records
// are derived from (a node's CPU topology, its devices), so that nothing is computed twice.
enum class FirstList : std::uint8_t { BeforePods, AnyTime };

struct ObjectKind {
  // The resource of its events; absent: no plugin waits for them.
  std::optional<EventResource> event;
  std::string_view customResource;  // with Custom: "plural.version.group"
  FirstList firstList = FirstList::AnyTime;
  // The API server may lack the kind or deny access: the store is empty then.
  bool optional = false;
};

// Specialised for every kind that is stored. It may have a class Reader, whose read(T&) changes an
// object before it is stored: it converts fields, drops fields and shares equal parts among
// objects.
template <class T>
struct KindOf;

}  // namespace koord::scheduler
