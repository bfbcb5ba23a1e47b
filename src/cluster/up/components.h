#pragma once

// The programs that `koordctl up` runs as children: how each is started, where it answers, and how
// one can tell that it is at work.

#include <optional>
#include <string>
#include <vector>

#include "api/meta.h"
#include "base/result.h"
#include "cluster/up/supervisor.h"

namespace koord::cluster {

struct Component {
  ChildSpec child;
  std::string metricsUrl;
  std::string secureUrl;                // of its HTTPS endpoints; "" = it has none
  std::string readyUrl;                 // answers 200 when it is ready
  std::optional<api::ObjectKey> lease;  // held by it while it leads
};

struct ComponentOptions {
  std::string programDir;  // where the programs are
  std::string logDir;
  std::string dataDir;
  std::string configDir;   // "" = none
  std::string nodeName;    // for koordlet
  std::string cgroupRoot;  // for koordlet
  std::string
      containerd;  // for koordlet: the socket of the node's runtime; "" = none that it knows
  std::string schedulerUrl;   // for koord-descheduler: HTTPS; "" = there is no koord-scheduler
  bool runtimeProxy = false;  // for koordlet: answer its questions
  bool severalNodes =
      false;  // for koord-scheduler: a pod that a busy node does not get has others to go to
  int verbosity = 0;
};

// The user a component is to the API server, and its groups.
struct ComponentUser {
  std::string name;
  std::vector<std::string> groups;
};
ComponentUser userOf(const std::string& component);

// Errors: a program that is not there, no free port. `kubeconfig` is the path of its kubeconfig.
Result<Component> makeComponent(const std::string& name, const std::string& kubeconfig,
                                const ComponentOptions& options);

// Where the running components answer, kept in the data folder for other commands.
Result<> writeComponentUrls(const std::string& dataDir, const std::vector<Component>& components);
void forgetComponentUrls(const std::string& dataDir);
// "http://127.0.0.1:1234"; "" when that is not known. NAME-secure is where NAME answers those who say
// who they are.
std::string componentUrl(const std::string& dataDir, const std::string& name);

// Free TCP ports on loopback; somebody else may take one before it is used.
Result<std::vector<int>> freePorts(int count);

}  // namespace koord::cluster
