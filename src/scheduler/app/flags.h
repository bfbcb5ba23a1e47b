#pragma once

// koord-scheduler's command line.

#include <string>
#include <utility>
#include <vector>

#include "kube/command_line.h"
#include "kube/secure_serving.h"
#include "net/http_server.h"
#include "net/serving.h"
#include "scheduler/app/feature_gates.h"
#include "scheduler/app/recording_ring.h"
#include "scheduler/app/sync_barrier.h"
#include "scheduler/auditor/audit_options.h"
#include "scheduler/core/scheduler.h"
#include "scheduler/shadow/shadow.h"

namespace koord::scheduler {

struct Flags {
  std::string version;                                     // of the program
  std::vector<std::pair<std::string, std::string>> shown;  // names and values, for /flagz
  std::string config;
  std::string writeConfigTo;
  bool profiling = true;
  bool contentionProfiling = true;
  // In a pod, probes and scrapers connect from outside.
  std::string address = net::runsInPod() ? "0.0.0.0" : "127.0.0.1";
  int port = 10251;
  kube::SecureServingOptions secure{
      .program = "koord-scheduler", .certificate = "kube-scheduler", .port = 10259};
  flags::FeatureGates gates = featureGates();
  std::vector<std::string> disabledMetrics;
  Scheduler::Debug debug;
  bool openDebugFlags = false;
  Duration maxUnschedulable = std::chrono::minutes(5);
  std::vector<std::string> controllerPlugins{"*"};
  AttemptMonitor::Options monitor;
  bool networkTopologyManager = false;
  AuditOptions audit;
  SyncBarrierOptions barrier;  // enabled by its gate
  kube::ElectionConfig election = defaultElection();
  bool showPlugins = false;
  RecordingOptions recording;
  std::string recordSize = "256Mi";
  ShadowOptions shadow;
};

// Fills `flags` and `component` when the line is parsed.
void addFlags(kube::CommandLine& line, Flags& flags, kube::ComponentOptions& component);

// The effective configuration: the file or the defaults, with the given flags on top. Also sets the
// component's connection settings.
Result<SchedulerOptions> resolve(const flags::FlagSet& given, const Flags& flags,
                                 kube::ComponentOptions& component);

}  // namespace koord::scheduler
