#pragma once

// Cleanup of a CustomResourceDefinition that is being deleted. Its objects are deleted as by
// clients, in batches; those with finalizers stay until their controllers have removed them. Until
// the last object is gone the definition keeps a finalizer and the condition Terminating, and new
// objects are rejected.
//
// No webhooks are called for these deletions, as upstream. On the server's executor.

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
// Returns true if the definition is being deleted and waits for its objects.
bool waitsForCleanup(const json::value& crd);
// Adds the finalizer and the condition Terminating to a definition that is being deleted.
void requireCleanup(json::value& crd, std::string_view now);

class CrdCleanup {
 public:
  explicit CrdCleanup(Server& server) : server_(server) {}

  // Starts the cleanup of a waiting definition. Does nothing if it is running.
  void start(const std::string& name);

 private:
  Task<void> run(std::string name);
  // Returns true if all objects could be deleted or marked for deletion.
  Task<bool> removeObjects(std::string table);

  Server& server_;
  std::set<std::string> running_;
  TaskGroup tasks_;
};

}  // namespace koord::apiserver
