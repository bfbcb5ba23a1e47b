#pragma once

// Pods for this folder's tests: podOf("uid", R"({"containers": [...]})") with the JSON of a spec.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "api/codec.h"
#include "api/pod.h"

namespace koord::cluster {

inline api::Pod podOf(const std::string& uid, std::string_view spec) {
  auto decoded = api::decodeText<api::PodSpec>(spec);
  EXPECT_TRUE(decoded) << (decoded ? "" : decoded.error().message);
  api::Pod pod;
  pod.metadata.name = "pod-" + uid;
  pod.metadata.namespace_ = "default";
  pod.metadata.uid = uid;
  if (decoded) pod.spec = *std::move(decoded);
  return pod;
}

}  // namespace koord::cluster
