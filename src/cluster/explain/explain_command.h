#pragma once

// "koordctl explain pod": asks a running koord-scheduler why a pod is where it is, why it still
// waits, or what would become of one that does not exist yet.

#include <string>

namespace koord::cluster {

struct ExplainOptions {
  std::string pod;   // "NAMESPACE/NAME", or "NAME" in the namespace default
  std::string file;  // instead: YAML or JSON of a pod, or of a workload with a pod template
  std::string
      scheduler;  // "http://127.0.0.1:10251"; "" = that of 'koordctl up' beside the kubeconfig
  std::string kubeconfig;  // as of 'koordctl status'
  bool json = false;
};

// The exit status; errors go to standard error.
int runExplain(const ExplainOptions& options);

}  // namespace koord::cluster
