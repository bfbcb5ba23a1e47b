#pragma once

// The options of `koordctl up`.

#include <optional>
#include <string>
#include <vector>

#include "cluster/screen/live/explain.h"
#include "cluster/up/runtime_options.h"

namespace koord::cluster {

enum class HostNodeMode { Auto, On, Off };

struct UpOptions {
  std::optional<int> nodes;  // simulated nodes; absent: 3 without a host node, else 0
  std::string nodeShape;     // a file with their hardware; "" = 32 CPUs and 128Gi
  HostNodeMode hostNode = HostNodeMode::Auto;
  std::vector<std::string> components = {"koord-manager", "koord-scheduler", "koord-descheduler",
                                         "koordlet"};
  std::string name = "default";  // of the cluster; see clusters.h
  std::string dataDir;           // "" = that of the name
  bool inMemory = false;
  // "" = 127.0.0.1:6443 for the default cluster, and for others a free port that stays the same.
  std::string listen;
  bool authorize = true;         // Node and RBAC; false: every known user may do everything
  bool anonymousAuth = true;     // requests without credentials are system:anonymous, not 401
  std::string auditLog;          // a file with a line per request; "" = none
  std::string kubeconfig;        // "" = <data folder>/kubeconfig
  bool mergeKubeconfig = false;  // and into the user's own, under a context of the cluster's name
  std::string configDir;         // with koord-scheduler.yaml and koord-descheduler.yaml
  RuntimeOptions runtime;        // of the host node
  bool quiet = false;
  bool demo = false;
  bool record = false;  // koord-scheduler's decisions, in the data folder
  int verbosity = 0;
  Explain explain = nullptr;  // for details on the screen; null = without
  // Of the console: an address, "off", or "" for 127.0.0.1:6480 or a free port.
  std::string console;
  ExplainByName explainByName = nullptr;  // for the console
  Simulate simulate = nullptr;            // the same
};

}  // namespace koord::cluster
