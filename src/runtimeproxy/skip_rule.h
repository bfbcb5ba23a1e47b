#pragma once

// Pods with this label or annotation get no hooks, for example the hook server's own pod.

#include <string>

#include "runtimeproxy/store.h"

namespace koord::runtimeproxy {

struct SkipRule {
  std::string key = "runtimeproxy.koordinator.sh/skip-hookserver";
  std::string value = "true";

  bool appliesTo(const PodRecord& pod) const {
    const auto in = [&](const google::protobuf::Map<std::string, std::string>& map) {
      const auto found = map.find(key);
      return found != map.end() && found->second == value;
    };
    return in(pod.info.labels()) || in(pod.info.annotations());
  }
};

}  // namespace koord::runtimeproxy
