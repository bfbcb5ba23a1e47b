#pragma once

// The plugins of a program, by name. Each main() builds its table; plugins do not register
// themselves.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "scheduler/config/fields.h"
#include "scheduler/framework/handle.h"
#include "scheduler/framework/plugin.h"

namespace koord::scheduler {

// Reads the arguments (absent ones take their defaults) and builds the plugin. Errors are noted in
// `args`; the result is not used then.
using PluginFactory = std::function<std::unique_ptr<Plugin>(Fields& args, Handle& handle)>;
using Registry = std::map<std::string, PluginFactory>;

}  // namespace koord::scheduler
