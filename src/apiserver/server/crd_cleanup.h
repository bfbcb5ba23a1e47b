#pragma once

// What comes between the deletion of a CustomResourceDefinition and its end: its objects are deleted like any others,
// some at a time, and those with finalizers stay until their controllers have taken them off. Until the last one is
// gone the definition keeps a finalizer, says Terminating and lets nothing new come.
//
// No webhooks are asked about these deletions, as upstream. On the server's executor.

#include <set>
#include <string>

#include "apiserver/registry/resource.h"
#include "base/json.h"
#include "base/task.h"

namespace koord::apiserver {

class Server;

inline constexpr std::string_view kCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

inline bool isCrd(const Resource& resource) {
  return resource.is("apiextensions.k8s.io", "customresourcedefinitions");
}
// Whether the definition is being deleted and waits for its objects.
bool waitsForCleanup(const json::value& crd);
// Makes a definition that is being deleted wait.
void requireCleanup(json::value& crd, std::string_view now);

class CrdCleanup {
 public:
  explicit CrdCleanup(Server& server) : server_(server) {}

  // For a definition that waits; again does nothing.
  void start(const std::string& name);

 private:
  Task<void> run(std::string name);
  // Whether all could be asked to go.
  Task<bool> removeObjects(std::string table);

  Server& server_;
  std::set<std::string> running_;
  TaskGroup tasks_;
};

}  // namespace koord::apiserver
