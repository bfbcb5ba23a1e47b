#pragma once

// "koordctl deschedule --dry-run": runs one cycle of koord-descheduler in this process on the
// current state of a cluster, without writes. Shows which pods it would move, on which nodes
// koord-scheduler would place them, and which pods it leaves alone and why.

#include <string>

#include "base/flags/command.h"

namespace koord::koordctl {

struct DescheduleOptions {
  bool dryRun = false;  // required: there is no other mode yet
  std::string
      config;  // DeschedulerConfiguration; "" = that of 'koordctl up', or of the cluster's ConfigMap
  std::string
      scheduler;  // "https://127.0.0.1:10259"; "" = that of 'koordctl up', or the leader of the cluster
  std::string kubeconfig;
  bool json = false;
};

// `options` must outlive the commands.
void addDescheduleCommand(flags::Commands& commands, DescheduleOptions& options);

}  // namespace koord::koordctl
