#include "api/codec_impl.h"
#include "api/describe_meta.h"
#include "api/describe_pod.h"
#include "api/storage.h"

namespace koord::api {

BOOST_DESCRIBE_STRUCT(VolumeResources, (), (requests))
BOOST_DESCRIBE_STRUCT(PersistentVolumeClaimSpec, (),
                      (accessModes, selector, resources, volumeName, storageClassName, volumeMode,
                       volumeAttributesClassName))
BOOST_DESCRIBE_STRUCT(PersistentVolumeClaimStatus, (), (phase, accessModes, capacity))
BOOST_DESCRIBE_STRUCT(PersistentVolumeClaim, (), (metadata, spec, status))
BOOST_DESCRIBE_STRUCT(VolumeNodeAffinity, (), (required))
BOOST_DESCRIBE_STRUCT(CSIPersistentVolumeSource, (), (driver, volumeHandle))
BOOST_DESCRIBE_STRUCT(PersistentVolumeSpec, (),
                      (capacity, accessModes, claimRef, storageClassName, volumeMode,
                       volumeAttributesClassName, nodeAffinity, csi, persistentVolumeReclaimPolicy))
BOOST_DESCRIBE_STRUCT(PersistentVolumeStatus, (), (phase))
BOOST_DESCRIBE_STRUCT(PersistentVolume, (), (metadata, spec, status))
BOOST_DESCRIBE_STRUCT(TopologySelectorLabelRequirement, (), (key, values))
BOOST_DESCRIBE_STRUCT(TopologySelectorTerm, (), (matchLabelExpressions))
BOOST_DESCRIBE_STRUCT(StorageClass, (),
                      (metadata, provisioner, volumeBindingMode, allowedTopologies, reclaimPolicy,
                       mountOptions))
BOOST_DESCRIBE_STRUCT(VolumeNodeResources, (), (count))
BOOST_DESCRIBE_STRUCT(CSINodeDriver, (), (name, allocatable))
BOOST_DESCRIBE_STRUCT(CSINodeSpec, (), (drivers))
BOOST_DESCRIBE_STRUCT(CSINode, (), (metadata, spec))
BOOST_DESCRIBE_STRUCT(CSIDriverSpec, (), (storageCapacity))
BOOST_DESCRIBE_STRUCT(CSIDriver, (), (metadata, spec))
BOOST_DESCRIBE_STRUCT(CSIStorageCapacity, (),
                      (metadata, nodeTopology, storageClassName, capacity, maximumVolumeSize))
BOOST_DESCRIBE_STRUCT(VolumeAttachmentSource, (), (persistentVolumeName))
BOOST_DESCRIBE_STRUCT(VolumeAttachmentSpec, (), (attacher, source, nodeName))
BOOST_DESCRIBE_STRUCT(VolumeAttachment, (), (metadata, spec))

}  // namespace koord::api

KOORD_OBJECT_CODEC(koord::api::PersistentVolumeClaim)
KOORD_OBJECT_CODEC(koord::api::PersistentVolume)
KOORD_OBJECT_CODEC(koord::api::StorageClass)
KOORD_OBJECT_CODEC(koord::api::CSINode)
KOORD_OBJECT_CODEC(koord::api::CSIDriver)
KOORD_OBJECT_CODEC(koord::api::CSIStorageCapacity)
KOORD_OBJECT_CODEC(koord::api::VolumeAttachment)
