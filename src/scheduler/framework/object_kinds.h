#pragma once

// The built-in kinds that plugins read, other than pods and nodes.

#include "api/core.h"
#include "api/services.h"
#include "api/storage.h"
#include "scheduler/framework/object_kind.h"

namespace koord::scheduler {

template <>
struct KindOf<api::Namespace> {
  static constexpr ObjectKind value{};
};
template <>
struct KindOf<api::PodDisruptionBudget> {
  static constexpr ObjectKind value{};
};
template <>
struct KindOf<api::Service> {
  static constexpr ObjectKind value{};
};
template <>
struct KindOf<api::ReplicationControllerSelection> {
  static constexpr ObjectKind value{};
};
template <>
struct KindOf<api::ReplicaSetSelection> {
  static constexpr ObjectKind value{};
};
template <>
struct KindOf<api::StatefulSetSelection> {
  static constexpr ObjectKind value{};
};
template <>
struct KindOf<api::PersistentVolume> {
  static constexpr ObjectKind value{.event = EventResource::PersistentVolume};
};
template <>
struct KindOf<api::PersistentVolumeClaim> {
  static constexpr ObjectKind value{.event = EventResource::PersistentVolumeClaim};
};
template <>
struct KindOf<api::StorageClass> {
  static constexpr ObjectKind value{.event = EventResource::StorageClass};
};
template <>
struct KindOf<api::CSINode> {
  static constexpr ObjectKind value{.event = EventResource::CSINode};
};
template <>
struct KindOf<api::CSIDriver> {
  static constexpr ObjectKind value{.event = EventResource::CSIDriver};
};
template <>
struct KindOf<api::CSIStorageCapacity> {
  static constexpr ObjectKind value{.event = EventResource::CSIStorageCapacity};
};
template <>
struct KindOf<api::VolumeAttachment> {
  static constexpr ObjectKind value{.event = EventResource::VolumeAttachment};
};

}  // namespace koord::scheduler
