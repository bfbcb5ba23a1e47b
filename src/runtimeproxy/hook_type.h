#pragma once

// The hooks that a hook server may register for, with their names in its configuration file and
// their calls of runtime.v1alpha1.RuntimeHookService.

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace koord::runtimeproxy {

enum class HookType {
  PreRunPodSandbox,
  PostStopPodSandbox,
  PreCreateContainer,
  PreStartContainer,
  PostStartContainer,
  PreUpdateContainerResources,
  PostStopContainer,
};

inline constexpr std::array<std::string_view, 7> kHookTypes = {
    "PreRunPodSandbox",   "PostStopPodSandbox",          "PreCreateContainer", "PreStartContainer",
    "PostStartContainer", "PreUpdateContainerResources", "PostStopContainer"};

inline std::string_view nameOf(HookType type) {
  return kHookTypes[static_cast<std::size_t>(type)];
}

// nullopt for names of hooks that the proxy does not call.
inline std::optional<HookType> hookTypeOf(std::string_view name) {
  for (std::size_t i = 0; i < kHookTypes.size(); ++i)
    if (kHookTypes[i] == name) return static_cast<HookType>(i);
  return std::nullopt;
}

// "/runtime.v1alpha1.RuntimeHookService/PreRunPodSandboxHook"
inline std::string hookPath(HookType type) {
  return "/runtime.v1alpha1.RuntimeHookService/" + std::string(nameOf(type)) + "Hook";
}

}  // namespace koord::runtimeproxy
