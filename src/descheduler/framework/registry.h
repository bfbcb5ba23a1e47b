#pragma once

// The plugins a program has, by name (plugins/registry.cc builds the table; nothing registers itself).

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fields.h"
#include "descheduler/framework/handle.h"
#include "descheduler/framework/plugin.h"

namespace koord::descheduler {

// Arguments that were read: what is in force, for /configz and --write-config-to, and what makes the plugin.
struct PreparedPlugin {
  json::object effective;
  std::function<std::shared_ptr<Plugin>(Handle& handle)> make;
  std::vector<std::string> notes{};  // for the log: what is hardly meant as it is written
};

struct PluginKind {
  // Reads and checks the arguments (absent ones take their defaults). Problems are noted in `args` with their
  // field paths, all of them; what is returned then is not used. Fields that it does not ask for are refused by
  // the caller. Has no other effect, so a configuration can be checked without a cluster.
  std::function<PreparedPlugin(Fields& args)> prepare;
  // The points that it serves, as in the configuration: deschedule, balance, evict, filter. An error of the
  // configuration otherwise, before anything is made.
  bool deschedule = false;
  bool balance = false;
  bool evict = false;
  bool filter = false;
  // One object for all profiles, whose arguments must then be the same.
  bool shared = false;
  // Upstream knows the type of the arguments: kind and apiVersion in them are checked, they are read even where
  // the plugin is not enabled, and shown with their defaults.
  bool native = false;
};
using Registry = std::map<std::string, PluginKind, std::less<>>;

}  // namespace koord::descheduler
