#pragma once

// Volumes, claims and what describes storage: core/v1 and storage.k8s.io/v1.

#include "api/pod.h"

namespace koord::api {

struct VolumeResources {
  ResourceList requests;
};
struct PersistentVolumeClaimSpec {
  std::vector<std::string> accessModes;
  std::optional<LabelSelector> selector;
  VolumeResources resources;
  std::string volumeName;
  std::optional<std::string> storageClassName;
  std::string volumeMode;  // Filesystem when empty
  std::string volumeAttributesClassName;
};
struct PersistentVolumeClaimStatus {
  std::string phase;                     // Pending, Bound, Lost
  std::vector<std::string> accessModes;  // of the volume it is bound to
  ResourceList capacity;
};
struct PersistentVolumeClaim {
  static constexpr ResourceType kType{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim",
                                      true};
  ObjectMeta metadata;
  PersistentVolumeClaimSpec spec;
  PersistentVolumeClaimStatus status;
};

struct VolumeNodeAffinity {
  std::optional<NodeSelector> required;
};
struct CSIPersistentVolumeSource {
  std::string driver;
  std::string volumeHandle;
};
struct PersistentVolumeSpec {
  ResourceList capacity;
  std::vector<std::string> accessModes;
  std::optional<ObjectReference> claimRef;
  std::string storageClassName;
  std::string volumeMode;
  std::string volumeAttributesClassName;
  std::optional<VolumeNodeAffinity> nodeAffinity;
  std::optional<CSIPersistentVolumeSource> csi;
  std::string persistentVolumeReclaimPolicy;  // Retain, Delete, Recycle
};
struct PersistentVolumeStatus {
  std::string phase;  // Pending, Available, Bound, Released, Failed
};
struct PersistentVolume {
  static constexpr ResourceType kType{"", "v1", "persistentvolumes", "PersistentVolume", false};
  ObjectMeta metadata;
  PersistentVolumeSpec spec;
  PersistentVolumeStatus status;
};

struct TopologySelectorLabelRequirement {
  std::string key;
  std::vector<std::string> values;
  bool operator==(const TopologySelectorLabelRequirement&) const = default;
};
struct TopologySelectorTerm {
  std::vector<TopologySelectorLabelRequirement> matchLabelExpressions;
  bool operator==(const TopologySelectorTerm&) const = default;
};
struct StorageClass {
  static constexpr ResourceType kType{"storage.k8s.io", "v1", "storageclasses", "StorageClass",
                                      false};
  ObjectMeta metadata;
  std::string provisioner;
  std::string volumeBindingMode;  // Immediate, WaitForFirstConsumer
  std::vector<TopologySelectorTerm> allowedTopologies;
  std::string reclaimPolicy;  // of the volumes that are made for it: Delete when empty
  std::vector<std::string> mountOptions;
};

struct VolumeNodeResources {
  std::optional<std::int32_t> count;  // how many volumes of the driver the node can hold
};
struct CSINodeDriver {
  std::string name;
  std::optional<VolumeNodeResources> allocatable;
};
struct CSINodeSpec {
  std::vector<CSINodeDriver> drivers;
};
struct CSINode {
  static constexpr ResourceType kType{"storage.k8s.io", "v1", "csinodes", "CSINode", false};
  ObjectMeta metadata;
  CSINodeSpec spec;
};

struct CSIDriverSpec {
  bool storageCapacity = false;
};
struct CSIDriver {
  static constexpr ResourceType kType{"storage.k8s.io", "v1", "csidrivers", "CSIDriver", false};
  ObjectMeta metadata;
  CSIDriverSpec spec;
};

struct CSIStorageCapacity {
  static constexpr ResourceType kType{"storage.k8s.io", "v1", "csistoragecapacities",
                                      "CSIStorageCapacity", true};
  ObjectMeta metadata;
  std::optional<LabelSelector> nodeTopology;
  std::string storageClassName;
  std::optional<Quantity> capacity;
  std::optional<Quantity> maximumVolumeSize;
};

struct VolumeAttachmentSource {
  std::string persistentVolumeName;
};
struct VolumeAttachmentSpec {
  std::string attacher;
  VolumeAttachmentSource source;
  std::string nodeName;
};
struct VolumeAttachment {
  static constexpr ResourceType kType{"storage.k8s.io", "v1", "volumeattachments",
                                      "VolumeAttachment", false};
  ObjectMeta metadata;
  VolumeAttachmentSpec spec;
};

}  // namespace koord::api
