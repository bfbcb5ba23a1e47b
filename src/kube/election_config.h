#pragma once

// Leader election as component configurations and command lines of Kubernetes have it:
// leaderElection: {leaderElect, leaseDuration, ...} and --leader-elect-...

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

// Zero and empty fields leave what is there.
void readElection(Fields fields, ElectionConfig& into);
// What is wrong with it, by field path, in the words of upstream. Nothing when there is no election.
void checkElection(const ElectionConfig& election, std::vector<std::string>& errors);
json::object electionDocument(const ElectionConfig& election);

// The flags, in a group of their own; `purpose` is what is done "only while holding the lease".
void addElectionFlags(flags::FlagSet& set, ElectionConfig& election, std::string_view purpose);
// The flags that were given have the last word.
void overrideElection(const flags::FlagSet& given, const ElectionConfig& byFlags,
                      ElectionConfig& election);

// The identity and metrics are still to be said.
LeaderElectionOptions electionOptions(const ElectionConfig& election);

}  // namespace koord::kube
