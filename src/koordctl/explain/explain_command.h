#pragma once

// "koordctl explain": asks a running koord-scheduler why a pod is on its node, why it is pending,
// or where a new pod would land; also the state of a gang, a quota, a reservation or a node's CPUs.
// Asks the API server for the state of a pod's migration. Asks koord-manager for a node's batch and
// mid resources, and for the reasons of a recommendation.

#include <string>

#include "base/executor.h"
#include "base/result.h"
#include "base/task.h"

namespace koord::koordctl {

struct ExplainOptions {
  enum class About { Pod, Gang, Quota, Reservation, Node, Migration, Recommendation };
  About about = About::Pod;
  // For pods, gangs and recommendations "NAMESPACE/NAME", or "NAME" in `namespace_`. For a
  // migration the name of its job, or its pod as NAMESPACE/NAME; NAME is a pod if `namespace_` is
  // given.
  std::string name;
  std::string namespace_;  // "" = that of the kubeconfig's context
  std::string
      file;  // instead of a pod's name: YAML or JSON of a pod, or of a workload with a pod template;
             // "-" = standard input
  std::string
      scheduler;  // "https://127.0.0.1:10259"; "" = that of 'koordctl up' beside the kubeconfig
  std::string manager;     // the same for koord-manager's metrics
  std::string dataDir;     // of the 'koordctl up' to ask; "" = that of the kubeconfig
  std::string kubeconfig;  // as of 'koordctl status'
  enum class Format { Text, Json, Yaml };
  Format format = Format::Text;
};

// The answer as text.
Task<Result<std::string>> explanationOf(ExplainOptions options, Executor* executor);

// The exit status; errors go to standard error.
int runExplain(const ExplainOptions& options);

}  // namespace koord::koordctl
