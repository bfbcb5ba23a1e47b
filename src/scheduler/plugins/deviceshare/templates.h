#pragma once

// GpuTemplates: the parts into which NPUs can be divided, by vendor and model of the node, from a
// ConfigMap:
//
//   data.yaml: |
//     huawei-Ascend-310P3:
//       vir02: {huawei.com/npu-core: 2, huawei.com/npu-cpu: 2, koordinator.sh/gpu-memory: 6Gi}

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "scheduler/framework/handle.h"
#include "scheduler/plugins/deviceshare/devices/allocator.h"

namespace koord::scheduler {

// The name of the event by which changed templates wake pods.
inline constexpr std::string_view kTemplatesChanged = "configmaps.v1";

class GpuTemplates {
 public:
  // The templates of the ConfigMap, shared by the profiles that name it.
  static GpuTemplates& of(Handle& handle, const api::ObjectKey& configMap);
  // All instances, by the ConfigMap that profiles name.
  static std::map<api::ObjectKey, std::unique_ptr<GpuTemplates>>& all(Handle& handle);

  // Errors name the field; the previous templates then stay in force, as upstream.
  Result<> set(std::string_view yaml);
  void clear();
  // Increases with every change.
  std::uint64_t version() const { return version_; }

  // Returns true if a template of any model has exactly these amounts.
  bool anyOf(const DeviceAmounts& amounts) const;
  // The templates for nodes with these labels; empty if there are none.
  const std::vector<GpuTemplate>& of(const NodeGpus& node) const;

 private:
  std::map<std::string, std::vector<GpuTemplate>> byModel_;  // "vendor-model"
  std::uint64_t version_ = 1;
};

}  // namespace koord::scheduler
