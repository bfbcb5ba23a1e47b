#pragma once

// "koordctl deschedule --dry-run": one cycle of koord-descheduler, here, on what a cluster is now, with nothing
// written: which pods it would move, where koord-scheduler says that they would land, and what it leaves alone and
// why.

#include <string>

namespace koord::koordctl {

struct DescheduleOptions {
  bool dryRun = false;  // has to be said: there is no other way yet
  std::string
      config;  // DeschedulerConfiguration; "" = that of 'koordctl up', or of the cluster's ConfigMap
  std::string
      scheduler;  // "https://127.0.0.1:10259"; "" = that of 'koordctl up', or the leader of the cluster
  std::string kubeconfig;
  bool json = false;
};

// The exit status; errors go to standard error.
int runDeschedule(const DescheduleOptions& options);

}  // namespace koord::koordctl
