#pragma once

// koord-scheduler's command line.

#include <CLI/CLI.hpp>

#include "kube/component.h"
#include "kube/request_guard.h"
#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

struct Flags {
  std::string version;  // of the program, for those who ask it
  std::vector<std::pair<std::string, std::string>> shown;  // see flagValues
  std::string config;
  std::string writeConfigTo;
  std::string address = "127.0.0.1";
  int port = 10251;
  std::string bindAddress = "127.0.0.1";
  int securePort = 10259;
  std::string tlsCertFile;
  std::string tlsKeyFile;
  std::string clientCaFile;
  std::string featureGates;
  std::vector<std::string> disabledMetrics;
  std::string authenticationKubeconfig;
  bool authenticationSkipLookup = false;
  bool authenticationTolerateLookupFailure = true;
  std::string tokensHold = "10s";
  std::string authorizationKubeconfig;
  std::vector<std::string> alwaysAllowPaths{"/healthz", "/readyz", "/livez"};
  std::string grantsHold = "10s";
  std::string refusalsHold = "10s";
  int debugScores = 0;
  bool debugFilters = false;
  bool debugDiagnosis = false;
  std::string maxUnschedulable = "5m";
  bool leaderElect = true;
  std::string leaseDuration = "15s";
  std::string renewDeadline = "10s";
  std::string retryPeriod = "2s";
  std::string resourceLock = "leases";
  std::string resourceName = "kube-scheduler";
  std::string resourceNamespace = "kube-system";
  bool showPlugins = false;
};

// Who may ask the HTTPS endpoints.
Result<kube::GuardOptions> guardOptions(const Flags& flags);

// Flags without their dashes, and their values: those given, and those with a default.
std::vector<std::pair<std::string, std::string>> flagValues(const CLI::App& app);

// Fills `flags` and `component` when the app parses.
void addFlags(CLI::App& app, Flags& flags, kube::ComponentOptions& component);

// The configuration in force: the file, or the defaults, with the flags that were given on top. Also
// decides what the component connects with.
Result<SchedulerOptions> resolve(const CLI::App& app, const Flags& flags, kube::ComponentOptions& component);

}  // namespace koord::scheduler
