#pragma once

// What koordlet finds on this machine, and what is off and why: logged at the start, and printed by `koordlet doctor`
// with what the API server and kubelet say (doctor_cluster.h).

#include <string>
#include <vector>

#include "koordlet/agent/options.h"
#include "koordlet/system/host.h"

namespace koord::koordlet {

struct Finding {
  bool fine = true;  // false: something that was asked for is off
  std::string text;
};
std::vector<Finding> examine(const Host& host, const AgentOptions& options);

// Line by line, "ok" or "off" first; ends with a sum.
std::string doctorText(const std::vector<Finding>& findings);

}  // namespace koord::koordlet
