#pragma once

// "koordctl explain": asks a running koord-scheduler why a pod is where it is, why it still waits, or what
// would become of one that does not exist yet; and how a gang, a quota, a reservation or a node's CPUs stand.
// How a pod's migration stands is asked of the API server.
// What a node lends to batch and mid pods, and how a recommendation came about, it asks koord-manager.

#include <string>

namespace koord::koordctl {

struct ExplainOptions {
  enum class About { Pod, Gang, Quota, Reservation, Node, Migration, Recommendation };
  About about = About::Pod;
  // Of pods and gangs "NAMESPACE/NAME", or "NAME" in the namespace default. Of a migration the name of its
  // job, or of its pod as NAMESPACE/NAME.
  std::string name;
  std::string
      file;  // instead of a pod's name: YAML or JSON of a pod, or of a workload with a pod template
  std::string
      scheduler;  // "https://127.0.0.1:10259"; "" = that of 'koordctl up' beside the kubeconfig
  std::string manager;     // likewise of koord-manager's metrics
  std::string kubeconfig;  // as of 'koordctl status'
  bool json = false;
};

// The exit status; errors go to standard error.
int runExplain(const ExplainOptions& options);

}  // namespace koord::koordctl
