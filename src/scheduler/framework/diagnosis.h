#pragma once

// Diagnosis: why a pod found no node, and the message for users.

#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/framework/status.h"

namespace koord::scheduler {

class Diagnosis {
 public:
  std::size_t totalNodes = 0;
  // A PreFilter plugin's rejection: the status of every node, and the text of the message.
  Status preFilter;
  // Nodes that PreFilter results excluded, and their status.
  NodeSet absent;
  Status absentStatus;
  // Nodes for which a PreFilter plugin rejected the pod, and its status.
  NodeSet declined;
  Status declinedStatus;
  // Verdicts on the other nodes. Borrowed: valid until the next attempt, unless keepVerdicts() is
  // called.
  const Verdicts* verdicts = nullptr;
  void keepVerdicts();
  std::span<const std::string> filterPlugins;  // names, by Rejection::plugin; the search's
  Status postFilter;
  std::string postFilterMessage;
  // Set for a group that is planned by network topology: the layer that must contain the whole
  // group, and how many of its pods each node could take.
  std::string gatheredIn;
  std::vector<std::pair<NodeId, std::int64_t>> offers;
  std::set<std::string> unschedulablePlugins;
  std::set<std::string> pendingPlugins;

  // The code of the node's rejection.
  Code codeOf(NodeId node) const;
  // The nodes of `among` that were rejected with this code, ascending.
  std::vector<NodeId> nodesWith(Code code, const NodeSet& among) const;
  // One rejection and its number of nodes; unsorted.
  struct Entry {
    std::string plugin;
    Code code;
    std::vector<std::string> reasons;
    std::size_t nodes;
  };
  std::vector<Entry> entries() const;
  void notePlugin(const std::string& plugin, Code code);

  // "0/5 nodes are available: 2 node(s) had untolerated taint(s), 3 Insufficient cpu. preemption:
  // ..."
  std::string message() const;

 private:
  std::shared_ptr<const Verdicts> kept_;
};

// The middle of the message: {"3 Insufficient cpu", ...} sorted as text and joined.
std::string reasonsText(std::vector<std::pair<std::string, std::size_t>> counts);

}  // namespace koord::scheduler
