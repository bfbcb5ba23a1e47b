#pragma once

// Checks a configuration against the existing plugins: reports every error in plugin names,
// extension points and arguments, by field path. Needs no cluster.

#include <map>
#include <string>
#include <vector>

#include "api/selector.h"
#include "descheduler/config/types.h"
#include "descheduler/framework/registry.h"

namespace koord::descheduler {

struct PreparedProfile {
  ProfileConfig config;
  api::Selector nodes;                                         // of the profile
  std::map<std::string, PreparedPlugin, std::less<>> plugins;  // enabled at any point
};

struct PreparedConfiguration {
  DeschedulerConfiguration configuration;  // pluginConfig with all defaults
  api::Selector nodes;                     // of the program
  std::vector<PreparedProfile> profiles;
  // Warnings for the log about settings without effect: arguments of plugins that are not enabled.
  std::vector<std::string> notes;
};

// If there are errors, the result must not be used.
PreparedConfiguration prepare(DeschedulerConfiguration configuration, const Registry& registry,
                              std::vector<std::string>& errors);

// A LabelSelector of a configuration; null selects all.
api::Selector readSelector(const json::value& document, std::string_view path,
                           std::vector<std::string>& errors);

}  // namespace koord::descheduler
