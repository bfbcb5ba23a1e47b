#pragma once

// koord-descheduler's command line.

#include <string>
#include <utility>
#include <vector>

#include "descheduler/framework/prepare.h"
#include "kube/command_line.h"
#include "kube/secure_serving.h"

namespace koord::descheduler {

// The feature gates that have an effect here.
flags::FeatureGates featureGates();

struct Flags {
  std::string version;
  std::vector<std::pair<std::string, std::string>> shown;  // names and values, for /flagz
  std::string config;
  std::string writeConfigTo;
  // The address without --config. Probes and scrapers come from outside the pod.
  std::string address = net::runsInPod() ? "0.0.0.0" : "127.0.0.1";
  int port = 10251;
  kube::SecureServingOptions secure{
      .program = "koord-descheduler", .certificate = "koord-descheduler", .port = 10258};
  flags::FeatureGates gates = featureGates();
  std::vector<std::string> disabledMetrics;
  kube::ElectionConfig election = defaultElection();
};

// Parsing the line fills `flags` and `component`.
void addFlags(kube::CommandLine& line, Flags& flags, kube::ComponentOptions& component);

// The configuration in force: the file or the defaults, overridden by flags on the command line.
// Also sets the component's connection settings. The error lists every problem, one a line, by
// field path.
Result<PreparedConfiguration> resolve(const flags::FlagSet& given, const Flags& flags,
                                      const Registry& registry, kube::ComponentOptions& component);

}  // namespace koord::descheduler
