#pragma once

// The plugins of a program, by name. plugins/registry.cc builds the table; plugins do not register
// themselves.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fields.h"
#include "descheduler/framework/handle.h"
#include "descheduler/framework/plugin.h"

namespace koord::descheduler {

// A plugin's arguments in force, for /configz and --write-config-to, and the function that creates
// the plugin.
struct PreparedPlugin {
  json::object effective;
  std::function<std::shared_ptr<Plugin>(Handle& handle)> make;
  std::vector<std::string> notes{};  // warnings for the log about suspicious arguments
};

struct PluginKind {
  // Reads and checks the arguments (absent ones get their defaults). Adds all problems to `args`
  // with their field paths; then the result is not used. The caller refuses fields that were not
  // read. Has no other effect, so a configuration can be checked without a cluster.
  std::function<PreparedPlugin(Fields& args)> prepare;
  // The extension points that it serves. Enabling it at another point is an error of the
  // configuration, found before plugins are created.
  bool deschedule = false;
  bool balance = false;
  bool evict = false;
  bool filter = false;
  // One object for all profiles, whose arguments must then be the same.
  bool shared = false;
  // The argument type exists upstream: their kind and apiVersion are checked, they are read even if
  // the plugin is not enabled, and shown with their defaults.
  bool native = false;
};
using Registry = std::map<std::string, PluginKind, std::less<>>;

}  // namespace koord::descheduler
