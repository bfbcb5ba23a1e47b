#pragma once

#include <string_view>

namespace koord::runtimehook {

// runtime.v1alpha1.RuntimeHookService and its messages, a serialized FileDescriptorSet; embedded
// from runtime_hook.proto.
extern const std::string_view kDescriptors;

}  // namespace koord::runtimehook
