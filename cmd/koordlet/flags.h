#pragma once

// koordlet's command line: upstream's flags and defaults, in Go's syntax (-flag=value or
// --flag=value).

#include <optional>
#include <string>

#include "koordlet/agent/options.h"
#include "koordlet/states/kubelet.h"
#include "kube/command_line.h"

namespace koord::koordlet {

struct Flags {
  AgentOptions agent;
  KubeletOptions kubelet;
  bool disableKubeletConfig = false;  // report no policies of kubelet
  kube::ComponentOptions component;
  std::string addr = ":9316";
  bool enablePprof = false;
  std::string pprofAddr = ":9317";
  bool doctor = false;  // report what works on this node, and exit
};

// Returns the exit status if the program must end, because it answered --help or printed an error
// to standard error.
std::optional<int> parseFlags(int argc, char** argv, Flags& flags);

}  // namespace koord::koordlet
