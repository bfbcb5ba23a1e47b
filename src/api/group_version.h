#pragma once

#include <string_view>

namespace koord::api {

// The parts of an apiVersion: "apps/v1". The core group is "". Valid as long as the text is.
struct GroupVersion {
  std::string_view group, version;
};

inline GroupVersion splitApiVersion(std::string_view apiVersion) {
  const auto slash = apiVersion.find('/');
  if (slash == std::string_view::npos) return {{}, apiVersion};
  return {apiVersion.substr(0, slash), apiVersion.substr(slash + 1)};
}

}  // namespace koord::api
