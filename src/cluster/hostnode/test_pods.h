#pragma once

// Pods for this folder's tests: podOf("uid", R"({"containers": [...]})") with the JSON of a spec.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "api/codec.h"
#include "base/json.h"
#include "cluster/hostnode/podspec/host_pod.h"

namespace koord::cluster {

inline HostPod podOf(const std::string& uid, std::string_view spec) {
  auto parsed = parseJson(spec);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  json::value document = json::object{{"spec", parsed ? *std::move(parsed) : json::value()}};
  auto decoded = api::decode<HostPod>(document);
  EXPECT_TRUE(decoded) << (decoded ? "" : decoded.error().message);
  HostPod pod = decoded ? *std::move(decoded) : HostPod{};
  pod.metadata.name = "pod-" + uid;
  pod.metadata.namespace_ = "default";
  pod.metadata.uid = uid;
  return pod;
}

}  // namespace koord::cluster
