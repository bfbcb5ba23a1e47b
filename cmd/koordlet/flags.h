#pragma once

// koordlet's command line: upstream's flags and defaults, in Go's syntax (-flag=value or
// --flag=value).

#include <string>
#include <vector>

#include "koordlet/agent/options.h"
#include "koordlet/states/kubelet.h"
#include "kube/component.h"

namespace koord::koordlet {

struct Flags {
  AgentOptions agent;
  KubeletOptions kubelet;
  kube::ComponentOptions component;
  std::string addr = ":9316";
  bool enablePprof = false;
  std::string pprofAddr = ":9317";
  std::vector<std::string> ignored;  // given, but for something that this version does not have
};

// Exits the process for --help (0) and for what cannot be used (an error on standard error, 2).
Flags parseFlags(int argc, char** argv);

}  // namespace koord::koordlet
