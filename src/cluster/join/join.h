#pragma once

// `koordctl join`: this host as a node of a cluster that runs on another host. The host node and
// koordlet are those of `koordctl up`; they reach the API server over the network, with the
// certificates of an invitation.

#include <string>

#include "cluster/up/runtime_options.h"

namespace koord::cluster {

struct JoinOptions {
  std::string invitation;  // a file, "-" = standard input, "" = the one of the last time
  std::string dataDir;     // "" = defaultDataDir()
  std::string address;     // of the node and of the kubelet's port; "" = the one towards the server
  RuntimeOptions runtime;
  bool quiet = false;
  int verbosity = 0;
};

// Runs until SIGINT or SIGTERM, then ends the node's pods. Returns the exit status. `program`: the
// path of koordctl; koordlet is beside it.
int runJoin(const JoinOptions& options, const std::string& program);

struct InviteOptions {
  std::string node;
  std::string server;   // "" = the address of the running cluster
  std::string dataDir;  // "" = defaultDataDir()
};

// Prints an invitation on standard output. Returns the exit status.
int runInvite(const InviteOptions& options);

}  // namespace koord::cluster
