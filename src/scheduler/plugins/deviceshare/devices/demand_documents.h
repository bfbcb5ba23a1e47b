#pragma once

// The JSON of annotations about devices, as codec_devices.cc reads it.

#include "api/meta.h"

namespace koord::scheduler {

struct DeviceHintDocument {
  std::optional<api::LabelSelector> selector;
  std::optional<api::LabelSelector> vfSelector;
  std::string allocateStrategy;
  std::string requiredTopologyScope;
  std::string exclusivePolicy;
};
struct JointDocument {
  api::List<std::string> deviceTypes;
  std::string requiredScope;
};
struct PartitionSpecDocument {
  std::string allocatePolicy;
  std::optional<Quantity> ringBusBandwidth;
};
struct PartitionDocument {
  api::List<std::int64_t> minors;
  std::string gpuLinkType;
  std::optional<Quantity> ringBusBandwidth;
  std::int64_t allocationScore = 0;
};
struct AllocatedFunctionDocument {
  std::int64_t minor = 0;
  std::string busID;
};
struct AllocatedExtensionDocument {
  api::List<AllocatedFunctionDocument> vfs;
  std::string gpuSharedResourceTemplate;
};
struct AllocatedDeviceDocument {
  std::int64_t minor = 0;
  api::ResourceList resources;
  std::string id;
  std::optional<AllocatedExtensionDocument> extension;
};

}  // namespace koord::scheduler
