#pragma once

// Flags of the host node's runtime, of `koordctl up` and `koordctl join`.

#include <string>

#include "base/flags/flag_set.h"
#include "cluster/up/runtime_options.h"

namespace koord::koordctl {

// `options` must outlive the set.
void addRuntimeFlags(flags::FlagSet& set, cluster::RuntimeOptions& options);

// What is wrong with the combination of flags; "" if nothing.
std::string checkRuntimeFlags(const cluster::RuntimeOptions& options);

}  // namespace koord::koordctl
