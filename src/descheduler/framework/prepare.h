#pragma once

// A configuration against the plugins that there are: every mistake in which plugins it names, where, and with
// what arguments, by field path. Needs no cluster.

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
  std::map<std::string, PreparedPlugin, std::less<>> plugins;  // those that are enabled somewhere
};

struct PreparedConfiguration {
  DeschedulerConfiguration configuration;  // pluginConfig with all defaults
  api::Selector nodes;                     // of the program
  std::vector<PreparedProfile> profiles;
  // What is there and does nothing, for the log: arguments of plugins that are not enabled.
  std::vector<std::string> notes;
};

// Where there are errors, what is returned is not to be used.
PreparedConfiguration prepare(DeschedulerConfiguration configuration, const Registry& registry,
                              std::vector<std::string>& errors);

// A LabelSelector of a configuration; null selects everything.
api::Selector readSelector(const json::value& document, std::string_view path,
                           std::vector<std::string>& errors);

}  // namespace koord::descheduler
