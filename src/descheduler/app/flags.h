#pragma once

// koord-descheduler's command line.

#include <string>
#include <utility>
#include <vector>

#include "descheduler/framework/prepare.h"
#include "kube/command_line.h"
#include "kube/secure_serving.h"

namespace koord::descheduler {

// The gates that mean something here.
flags::FeatureGates featureGates();

struct Flags {
  std::string version;
  std::vector<std::pair<std::string, std::string>> shown;  // names and values, for /flagz
  std::string config;
  std::string writeConfigTo;
  // Where to listen without --config. Probes and scrapers come from outside of the pod.
  std::string address = net::runsInPod() ? "0.0.0.0" : "127.0.0.1";
  int port = 10251;
  kube::SecureServingOptions secure{
      .program = "koord-descheduler", .certificate = "koord-descheduler", .port = 10258};
  flags::FeatureGates gates = featureGates();
  std::vector<std::string> disabledMetrics;
  kube::ElectionConfig election = defaultElection();
};

// Fills `flags` and `component` when the line is parsed.
void addFlags(kube::CommandLine& line, Flags& flags, kube::ComponentOptions& component);

// The configuration in force: the file, or the defaults, with the flags that were given on top. Also decides what
// the component connects with. The error lists every problem, one a line, by field path.
Result<PreparedConfiguration> resolve(const flags::FlagSet& given, const Flags& flags,
                                      const Registry& registry, kube::ComponentOptions& component);

}  // namespace koord::descheduler
