#pragma once

// The logging flags of every Kubernetes program: those of klog and of component-base.

#include <string>

#include "base/flags/flag_set.h"
#include "base/log_output.h"

namespace koord::flags {

// The variables must outlive the set. `thresholdAlways`: --stderrthreshold applies with
// --logtostderr, too, from INFO on.
void addLogFlags(FlagSet& set, int& verbosity, std::string& format, log::Output& output,
                 bool thresholdAlways = false);

}  // namespace koord::flags
