#pragma once

// What koordlet finds on this host, and what is off and why. koordlet logs it at the start, and
// `koordlet doctor` prints it together with the checks of the API server and kubelet
// (doctor_cluster.h).

#include <string>
#include <vector>

#include "koordlet/agent/options.h"
#include "koordlet/system/host.h"

namespace koord::koordlet {

struct Finding {
  bool passed = true;  // false: something that the options ask for is off
  std::string text;
};
// The findings on this host, without requests to the API server or kubelet.
std::vector<Finding> examine(const Host& host, const AgentOptions& options);

// One line per finding, which starts with "ok" or "off"; the last line is the summary.
std::string doctorText(const std::vector<Finding>& findings);

}  // namespace koord::koordlet
