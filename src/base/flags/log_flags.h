#pragma once

// The flags for the log that every program of Kubernetes has: klog's and those of its components.

#include <string>

#include "base/flags/flag_set.h"
#include "base/log_output.h"

namespace koord::flags {

// What they set must outlive the set. `thresholdAlways`: --stderrthreshold holds with
// --logtostderr, from INFO on.
void addLogFlags(FlagSet& set, int& verbosity, std::string& format, log::Output& output,
                 bool thresholdAlways = false);

}  // namespace koord::flags
