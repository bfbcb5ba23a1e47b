#pragma once

// Leader election in component configurations and command lines of Kubernetes: leaderElection:
// {leaderElect, leaseDuration, ...} and --leader-elect-...

#include <string>
#include <vector>

#include "base/fields.h"
#include "base/flags/flag_set.h"
#include "kube/leader_election.h"

namespace koord::kube {

struct ElectionConfig {
  bool leaderElect = true;
  Duration leaseDuration = std::chrono::seconds(15);
  Duration renewDeadline = std::chrono::seconds(10);
  Duration retryPeriod = std::chrono::seconds(2);
  std::string resourceLock = "leases";
  std::string resourceName;
  std::string resourceNamespace;
};

// Zero and empty fields leave the current value.
void readElection(Fields fields, ElectionConfig& into);
// Validation errors by field path, in upstream's words. None if leader election is off.
void checkElection(const ElectionConfig& election, std::vector<std::string>& errors);
json::object electionDocument(const ElectionConfig& election);

// Adds the flags in their own group; `purpose` completes "... only while holding the lease".
void addElectionFlags(flags::FlagSet& set, ElectionConfig& election, std::string_view purpose);
// Flags on the command line override the configuration file.
void overrideElection(const flags::FlagSet& given, const ElectionConfig& byFlags,
                      ElectionConfig& election);

// The caller sets identity and metrics.
LeaderElectionOptions electionOptions(const ElectionConfig& election);

}  // namespace koord::kube
