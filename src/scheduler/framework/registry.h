#pragma once

// The plugins a program has, by name. Each main() builds its table; nothing registers itself.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "scheduler/config/fields.h"
#include "scheduler/framework/handle.h"
#include "scheduler/framework/plugin.h"

namespace koord::scheduler {

// Reads its arguments (absent ones take their defaults) and builds the plugin. Problems are noted in
// `args`; what is returned then is not used.
using PluginFactory = std::function<std::unique_ptr<Plugin>(Fields& args, Handle& handle)>;
using Registry = std::map<std::string, PluginFactory>;

}  // namespace koord::scheduler
