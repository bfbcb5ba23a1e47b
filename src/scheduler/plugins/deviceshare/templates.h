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

// As what their changes wake pods.
inline constexpr std::string_view kTemplatesChanged = "configmaps.v1";

class GpuTemplates {
 public:
  // Of the ConfigMap, shared by the profiles that name it.
  static GpuTemplates& of(Handle& handle, const api::ObjectKey& configMap);
  // All that profiles name.
  static std::map<api::ObjectKey, std::unique_ptr<GpuTemplates>>& all(Handle& handle);

  // Errors name the field; what was known stays then, as upstream.
  Result<> set(std::string_view yaml);
  void clear();
  // Rises with every change.
  std::uint64_t version() const { return version_; }

  // Whether some template of some model has just these amounts.
  bool anyOf(const DeviceAmounts& amounts) const;
  // Those of nodes with these labels; without any, none.
  const std::vector<GpuTemplate>& of(const NodeGpus& node) const;

 private:
  std::map<std::string, std::vector<GpuTemplate>> byModel_;  // "vendor-model"
  std::uint64_t version_ = 1;
};

}  // namespace koord::scheduler
