#pragma once

// Carries out one operation of a test and returns its result. Everything that can succeed later (an
// assertion, a deletion, a create that a webhook denies for now) is retried until the timeout.

#include <filesystem>
#include <string>
#include <vector>

#include "scenario/environment.h"
#include "scenario/resolver.h"
#include "scenario/results.h"
#include "scenario/test_file.h"

namespace koord::scenario {

// The context of an operation.
struct OperationContext {
  std::string namespace_;
  std::filesystem::path folder;
  Bindings bindings;
  Timeouts timeouts;  // all set
  bool render = true;
  std::string propagationPolicy;
  std::int64_t id = 1;
};

struct ObjectId {
  std::string apiVersion;
  std::string kind;
  api::ObjectKey key;
  std::string toString() const;  // "apps/v1/Deployment ns/name"
};

struct OperationOutcome {
  OperationResult result;
  Bindings bindings;              // those of the context and the operation's outputs
  std::vector<ObjectId> created;  // objects that did not exist before, oldest first
};

class Operations {
 public:
  Operations(Environment& environment, TypeResolver& resolver)
      : environment_(environment), resolver_(resolver) {}

  Task<OperationOutcome> run(const Operation& operation, OperationContext context);
  // Deletes the object and waits until it is gone; succeeds if it does not exist.
  Task<OperationResult> remove(ObjectId id, std::string propagationPolicy, Duration timeout);

  // Calls the API for a JSON document.
  Task<Result<json::value>> call(kube::Request request);

 private:
  // One attempt; "" in `error` ends the retries.
  struct Attempt {
    std::string error;
    json::value object;
    bool created = false;
    std::vector<Deviation> deviations;
  };
  struct Target {
    api::ResourceType type;
    api::ObjectKey key;
  };

  Task<void> runOnResources(const Operation& operation, OperationContext context,
                            OperationOutcome& outcome);
  Task<void> runOnResource(const Operation& operation, json::value resource,
                           const Bindings& bindings, const OperationContext& context,
                           OperationOutcome& outcome);
  Task<Result<kube::Request>> requestOf(const Operation& operation, Target target,
                                        json::value resource);
  Task<Attempt> write(const Operation& operation, json::value resource,
                      const OperationContext& context);
  Task<Result<json::value>> apply(Target target, json::value resource, api::StringMap query,
                                  bool& created);
  Task<Attempt> check(const Operation& operation, const AssertionTree& tree,
                      const Bindings& bindings, const OperationContext& context);
  Task<void> runDelete(const Operation& operation, const Bindings& bindings,
                       const OperationContext& context, OperationOutcome& outcome);
  Task<void> runWait(const Operation& operation, const Bindings& bindings,
                     const OperationContext& context, OperationOutcome& outcome);
  Task<void> runProcessOperation(const Operation& operation, const Bindings& bindings,
                                 const OperationContext& context, OperationOutcome& outcome);
  Task<void> gather(const Operation& operation, const Bindings& bindings,
                    const OperationContext& context, OperationOutcome& outcome);
  Task<std::string> logsOf(const Operation& operation, api::ObjectKey pod);

  Task<Result<Target>> targetOf(const json::value& resource, std::string namespace_);
  // The newest state of the selected objects. An empty result is not an error.
  Task<Result<std::vector<json::value>>> select(Selection selection, std::string namespace_);
  Task<std::vector<std::string>> eventsOf(const json::value& object);
  // Waits for the next attempt. Returns false if the time is over.
  Task<bool> again(SteadyTime deadline, Duration timeout);

  Environment& environment_;
  TypeResolver& resolver_;
};

}  // namespace koord::scenario
