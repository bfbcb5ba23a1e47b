#include <fmt/format.h>

#include "base/time.h"
#include "kube/client.h"
#include "scenario/kinds.h"
#include "scenario/operation_rules.h"
#include "scenario/operations.h"

// Deletes objects and waits until they are gone; waits for changes of other clients.

namespace koord::scenario {

Task<OperationResult> Operations::remove(ObjectId id, std::string propagationPolicy,
                                         Duration timeout) {
  OperationResult result;
  result.name = "DELETE";
  result.target = id.toString();
  const auto start = environment_.executor().steadyNow();
  auto resolving = resolver_.resolve(id.apiVersion, id.kind);
  const auto type = co_await resolving;
  if (!type) {
    // Its CustomResourceDefinition is gone, so the object is gone, too.
    if (type.error().code != ErrorCode::NotFound) result.error = type.error().message;
    co_return result;
  }
  kube::DeleteOptions options;
  options.propagationPolicy = std::move(propagationPolicy);
  auto deleting = kube::deleteObject(environment_.api(), *type, id.key, std::move(options));
  const auto deleted = co_await deleting;
  if (!deleted && deleted.error().code != ErrorCode::NotFound)
    result.error = deleted.error().message;
  std::string uid;
  while (!result.failed() && deleted) {
    auto getting = kube::getObject(environment_.api(), *type, id.key);
    const auto object = co_await getting;
    if (!object && object.error().code == ErrorCode::NotFound) break;
    if (object) {
      const std::string now(textAt(*object, "metadata", "uid"));
      if (!uid.empty() && now != uid) break;
      // Re-created between the deletion and the first check.
      if (textAt(*object, "metadata", "deletionTimestamp").empty()) break;
      uid = now;
    }
    auto waiting = again(start + timeout, timeout);
    const bool more = co_await waiting;
    if (more) continue;
    const auto* finalizers = object ? at(*object, "metadata", "finalizers") : nullptr;
    result.error = fmt::format("still exists after {}{}", formatDuration(timeout),
                               finalizers ? ", finalizers: " + toJson(*finalizers) : "");
  }
  result.elapsed = environment_.executor().steadyNow() - start;
  co_return result;
}

Task<void> Operations::runDelete(const Operation& operation, const Bindings& bindings,
                                 const OperationContext& context, OperationOutcome& outcome) {
  std::vector<Selection> selections;
  if (operation.file.empty()) {
    const auto selection = renderSelection(operation.selection, bindings);
    if (selection) {
      selections.push_back(*selection);
    } else {
      outcome.result.error = selection.error().message;
    }
  } else {
    const auto file = renderText(operation.file, bindings);
    const auto resources = file ? readResources(context.folder, *file)
                                : Result<std::vector<json::value>>(fail(file.error()));
    if (!resources) outcome.result.error = resources.error().message;
    for (std::size_t i = 0; resources && i < resources->size(); ++i) {
      const auto selection = selectionOf((*resources)[i], bindings);
      if (selection) {
        selections.push_back(*selection);
      } else {
        outcome.result.error = selection.error().message;
      }
    }
  }
  const std::string policy =
      operation.propagationPolicy.empty() ? context.propagationPolicy : operation.propagationPolicy;
  for (std::size_t i = 0; i < selections.size() && !outcome.result.failed(); ++i) {
    auto selecting = select(selections[i], context.namespace_);
    const auto objects = co_await selecting;
    if (!objects) {
      outcome.result.error = objects.error().message;
      co_return;
    }
    for (const auto& object : *objects) {
      ObjectId id{selections[i].apiVersion, selections[i].kind, keyOf(object)};
      auto removing = remove(std::move(id), policy, timeoutOf(operation, context.timeouts));
      auto removed = co_await removing;
      outcome.result.target = removed.target;
      outcome.result.error = judge(operation.expect, object, object, removed.error, bindings);
      if (outcome.result.failed()) co_return;
    }
  }
}

Task<void> Operations::runWait(const Operation& operation, const Bindings& bindings,
                               const OperationContext& context, OperationOutcome& outcome) {
  const auto selection = renderSelection(operation.selection, bindings);
  if (!selection) {
    outcome.result.error = selection.error().message;
    co_return;
  }
  const bool forDeletion = operation.wait.kind == WaitFor::Kind::Deletion;
  outcome.result.target =
      fmt::format("{}/{} {}", selection->apiVersion, selection->kind,
                  selection->name.empty() ? selection->labelSelector : selection->name);
  const Duration timeout = timeoutOf(operation, context.timeouts);
  const SteadyTime deadline = environment_.executor().steadyNow() + timeout;
  for (;;) {
    auto selecting = select(*selection, context.namespace_);
    const auto objects = co_await selecting;
    std::string error;
    std::vector<Deviation> deviations;
    if (!objects) {
      error = objects.error().message;
    } else if (forDeletion) {
      if (!objects->empty()) error = fmt::format("{} still exists", titleOf(objects->front()));
    } else if (objects->empty()) {
      error = "the object does not exist";
    } else if (operation.wait.kind != WaitFor::Kind::Creation) {
      for (const auto& object : *objects) {
        const auto as = satisfiesWait(object, operation.wait);
        if (as && *as) continue;
        error = as ? fmt::format("{} does not match", titleOf(object)) : as.error().message;
        const auto* status = find(object, "status");
        deviations.push_back({titleOf(object), {}, status ? *status : json::value(nullptr), {}});
        auto listing = eventsOf(object);
        deviations.back().events = co_await listing;
        break;
      }
    }
    if (error.empty()) co_return;
    auto waiting = again(deadline, timeout);
    const bool more = co_await waiting;
    if (more) continue;
    outcome.result.error = fmt::format("{} after {}", error, formatDuration(timeout));
    outcome.result.deviations = std::move(deviations);
    co_return;
  }
}

}  // namespace koord::scenario
