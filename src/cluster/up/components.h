#pragma once

// The programs that `koordctl up` runs as child processes: how each is started, its address, and
// how to check that it works.

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
  std::string readyUrl;                 // returns 200 when it is ready
  std::optional<api::ObjectKey> lease;  // that it holds while it leads
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
  std::string schedulerUrl;   // for koord-descheduler: HTTPS; "" = no koord-scheduler
  bool runtimeProxy = false;  // for koordlet: answer the hooks of koord-runtime-proxy
  bool severalNodes =
      false;  // for koord-scheduler: a pod that a busy node does not get has others to go to
  bool record = false;  // for koord-scheduler: to dataDir/koord-scheduler.rec
  int verbosity = 0;
};

// A component's user in the API server, and its groups.
struct ComponentUser {
  std::string name;
  std::vector<std::string> groups;
};
ComponentUser userOf(const std::string& component);

// Fails if a program is missing or no port is free. `kubeconfig` is the path of its kubeconfig.
Result<Component> makeComponent(const std::string& name, const std::string& kubeconfig,
                                const ComponentOptions& options);

// The names of the API server's addresses in these files: for this host, and for other hosts.
inline constexpr const char* kServer = "api-server";
inline constexpr const char* kOutsideServer = "api-server-outside";

struct ServerUrls {
  std::string own;      // for programs of this host
  std::string outside;  // for other hosts; "" if the API server listens on loopback only
};

// Writes the addresses of the running components and of the API server to the data folder, for
// other commands.
Result<> writeComponentUrls(const std::string& dataDir, const std::vector<Component>& components,
                            const ServerUrls& servers);
void forgetComponentUrls(const std::string& dataDir);
// "http://127.0.0.1:1234"; "" if unknown. NAME-secure is the address of NAME for authenticated
// clients.
std::string componentUrl(const std::string& dataDir, const std::string& name);

// Free TCP ports on loopback, which no earlier call in this process returned. Another program that
// listens on a fixed port may take one before it is used; connections of other programs do not. One
// thread.
Result<std::vector<int>> freePorts(int count);

}  // namespace koord::cluster
