#pragma once

// Writes the status of ValidatingAdmissionPolicies: the warnings of type checking
// (rules/policy_types.h), and the generation that was checked. In a real cluster
// kube-controller-manager does.
//
// On the server's executor.

#include <cstdint>
#include <set>
#include <string>

#include "base/json.h"
#include "base/task.h"

namespace koord::apiserver {

class Server;

class PolicyChecks {
 public:
  explicit PolicyChecks(Server& server) : server_(server) {}

  // Checks the policy in a later turn, if its generation was not checked yet.
  void start(const std::string& name);

 private:
  Task<void> run(std::string name);
  // The status of a policy. Other work runs between two kinds.
  Task<json::value> check(const json::value& policy, std::int64_t generation);

  Server& server_;
  std::set<std::string> running_;
  TaskGroup tasks_;
};

}  // namespace koord::apiserver
