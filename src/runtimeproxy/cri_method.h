#pragma once

// The calls of the Container Runtime Interface (CRI) that the proxy intercepts. All others pass
// unchanged.

#include <array>
#include <optional>
#include <string_view>

namespace koord::runtimeproxy {

enum class CriMethod {
  RunPodSandbox,
  StopPodSandbox,
  RemovePodSandbox,
  CreateContainer,
  StartContainer,
  StopContainer,
  RemoveContainer,
  UpdateContainerResources,
};

inline constexpr std::string_view kRuntimeService = "/runtime.v1.RuntimeService/";
inline constexpr std::array<std::string_view, 8> kCriMethods = {
    "RunPodSandbox",  "StopPodSandbox", "RemovePodSandbox", "CreateContainer",
    "StartContainer", "StopContainer",  "RemoveContainer",  "UpdateContainerResources"};

inline std::string_view nameOf(CriMethod method) {
  return kCriMethods[static_cast<std::size_t>(method)];
}

// By the path of the HTTP/2 request: "/runtime.v1.RuntimeService/RunPodSandbox".
inline std::optional<CriMethod> criMethodOf(std::string_view path) {
  if (!path.starts_with(kRuntimeService)) return std::nullopt;
  path.remove_prefix(kRuntimeService.size());
  for (std::size_t i = 0; i < kCriMethods.size(); ++i)
    if (kCriMethods[i] == path) return static_cast<CriMethod>(i);
  return std::nullopt;
}

}  // namespace koord::runtimeproxy
