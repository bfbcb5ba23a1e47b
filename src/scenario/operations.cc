#include "scenario/operations.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/time.h"
#include "kube/client.h"
#include "scenario/jmespath_values.h"
#include "scenario/kinds.h"
#include "scenario/operation_rules.h"

namespace koord::scenario {
namespace {

using Kind = Operation::Kind;

constexpr std::size_t kMaxDeviations = 3;
constexpr const char* kFieldManager = "koordctl-test";

// For reports: the evaluated names, not their expressions.
json::value withMetadataFilled(json::value document, const Bindings& bindings) {
  if (auto* metadata = find(document, "metadata")) {
    if (auto filled = render(*metadata, bindings)) *metadata = *std::move(filled);
  }
  return document;
}

}  // namespace

std::string ObjectId::toString() const {
  return fmt::format("{}/{} {}", apiVersion, kind, key.toString());
}

Task<OperationOutcome> Operations::run(const Operation& operation, OperationContext context) {
  OperationOutcome outcome;
  outcome.bindings = context.bindings;
  outcome.result.name = nameOf(operation.kind);
  outcome.result.field = operation.field;
  outcome.result.place = operation.place;
  outcome.result.description = operation.description;
  const auto start = environment_.executor().steadyNow();
  const auto bindings = evaluateBindings(
      operation.bindings, context.bindings.with("operation", json::object{{"id", context.id}}));
  if (!bindings) {
    outcome.result.error = bindings.error().message;
    co_return outcome;
  }
  switch (operation.kind) {
    case Kind::Apply:
    case Kind::Create:
    case Kind::Update:
    case Kind::Patch:
    case Kind::Assert:
    case Kind::Error: {
      auto task = runOnResources(operation, context, outcome);
      co_await task;
      break;
    }
    case Kind::Delete: {
      auto task = runDelete(operation, *bindings, context, outcome);
      co_await task;
      break;
    }
    case Kind::Wait: {
      auto task = runWait(operation, *bindings, context, outcome);
      co_await task;
      break;
    }
    case Kind::Sleep: {
      outcome.result.target = formatDuration(operation.duration);
      auto pause = sleepFor(environment_.executor(), operation.duration);
      co_await pause;
      break;
    }
    case Kind::Script:
    case Kind::Command: {
      auto task = runProcessOperation(operation, *bindings, context, outcome);
      co_await task;
      break;
    }
    default: {
      auto task = gather(operation, *bindings, context, outcome);
      co_await task;
      break;
    }
  }
  outcome.result.elapsed = environment_.executor().steadyNow() - start;
  co_return outcome;
}

Task<Result<json::value>> Operations::call(kube::Request request) {
  auto task = environment_.api().call(std::move(request));
  const auto reply = co_await task;
  if (!reply) co_return fail(reply.error());
  co_return parseJson(*reply);
}

Task<bool> Operations::again(SteadyTime deadline, Duration timeout) {
  using namespace std::chrono_literals;
  Executor& executor = environment_.executor();
  const auto left = deadline - executor.steadyNow();
  if (left <= Duration{}) co_return false;
  // Short enough for interactive use, but at most some hundred polls in a long timeout.
  const Duration pause = std::clamp<Duration>(timeout / 600, 50ms, 5s);
  auto sleep = sleepFor(executor, std::min<Duration>(pause, left));
  co_await sleep;
  co_return true;
}

Task<void> Operations::runOnResources(const Operation& operation, OperationContext context,
                                      OperationOutcome& outcome) {
  std::vector<json::value> resources;
  if (operation.resource) {
    resources.push_back(*operation.resource);
  } else {
    const auto file = renderText(operation.file, context.bindings);
    auto read = file ? readResources(context.folder, *file)
                     : Result<std::vector<json::value>>(fail(file.error()));
    if (!read) {
      outcome.result.error = read.error().message;
      co_return;
    }
    resources = *std::move(read);
  }
  const bool assertion = operation.kind == Kind::Assert || operation.kind == Kind::Error;
  for (std::size_t i = 0; i < resources.size() && !outcome.result.failed(); ++i) {
    const json::object ids{{"id", context.id}, {"resourceId", i + 1}};
    const auto bindings =
        evaluateBindings(operation.bindings, outcome.bindings.with("operation", ids));
    if (!bindings) {
      outcome.result.error = bindings.error().message;
      co_return;
    }
    json::value resource = std::move(resources[i]);
    if (!assertion && operation.render.value_or(context.render)) {
      auto filled = render(resource, *bindings);
      if (!filled) {
        outcome.result.error = filled.error().message;
        co_return;
      }
      resource = *std::move(filled);
    }
    auto task = runOnResource(operation, std::move(resource), *bindings, context, outcome);
    co_await task;
  }
}

Task<void> Operations::runOnResource(const Operation& operation, json::value resource,
                                     const Bindings& bindings, const OperationContext& context,
                                     OperationOutcome& outcome) {
  const bool assertion = operation.kind == Kind::Assert || operation.kind == Kind::Error;
  if (!textAt(resource, "kind").empty()) {
    outcome.result.target = titleOf(withMetadataFilled(resource, bindings));
  }
  AssertionTree tree;
  if (assertion) {
    auto parsed = AssertionTree::parse(resource);
    if (!parsed) {
      outcome.result.error = parsed.error().message;
      co_return;
    }
    tree = *std::move(parsed);
    if (operation.kind == Kind::Assert)
      outcome.result.expected = withMetadataFilled(resource, bindings);
  }
  const Duration timeout = timeoutOf(operation, context.timeouts);
  const SteadyTime deadline = environment_.executor().steadyNow() + timeout;
  for (;;) {
    auto task =
        assertion ? check(operation, tree, bindings, context) : write(operation, resource, context);
    auto attempt = co_await task;
    // A successful write is not repeated to get a better outcome.
    const bool written = !assertion && attempt.error.empty();
    if (!assertion) {
      const json::value& object = attempt.error.empty() ? attempt.object : resource;
      attempt.error = judge(operation.expect, resource, object, attempt.error, bindings);
      if (attempt.created) {
        outcome.created.push_back({std::string(textAt(attempt.object, "apiVersion")),
                                   std::string(textAt(attempt.object, "kind")),
                                   keyOf(attempt.object)});
      }
    }
    if (attempt.error.empty()) {
      auto outputs =
          addOutputs(operation, attempt.object, bindings.with("error", nullptr), outcome.bindings);
      if (outputs) {
        outcome.bindings = *std::move(outputs);
      } else {
        outcome.result.error = outputs.error().message;
      }
      co_return;
    }
    if (!written) {
      auto waiting = again(deadline, timeout);
      const bool more = co_await waiting;
      if (more) continue;
    }
    outcome.result.error = std::move(attempt.error);
    outcome.result.deviations = std::move(attempt.deviations);
    for (auto& deviation : outcome.result.deviations) {
      auto listing = eventsOf(deviation.actual);
      deviation.events = co_await listing;
      deviation.actual = tree.view(deviation.actual, bindings);
    }
    co_return;
  }
}

Task<Result<Operations::Target>> Operations::targetOf(const json::value& resource,
                                                      std::string namespace_) {
  const std::string apiVersion(textAt(resource, "apiVersion"));
  const std::string kind(textAt(resource, "kind"));
  if (apiVersion.empty() || kind.empty()) {
    co_return fail(ErrorCode::Invalid, "an object needs apiVersion and kind");
  }
  auto task = resolver_.resolve(apiVersion, kind);
  const auto type = co_await task;
  if (!type) co_return fail(type.error());
  Target target{*type, keyOf(resource)};
  if (!type->namespaced) {
    target.key.namespace_.clear();
  } else if (target.key.namespace_.empty()) {
    target.key.namespace_ = std::move(namespace_);
  }
  co_return target;
}

Task<Result<kube::Request>> Operations::requestOf(const Operation& operation, Target target,
                                                  json::value resource) {
  kube::Request request = kube::makeRequest(kube::Verb::Create, target.type, target.key);
  if (operation.kind == Kind::Create || operation.kind == Kind::Apply) {
    request.subresource = operation.subresource;
    if (request.subresource.empty()) request.name.clear();
  } else if (operation.kind == Kind::Patch) {
    request.verb = kube::Verb::Patch;
    request.patchType = kube::PatchType::Merge;
    request.subresource = operation.subresource;
  } else {
    request.verb = kube::Verb::Update;
    auto getting = call(kube::makeRequest(kube::Verb::Get, target.type, target.key));
    const auto existing = co_await getting;
    if (!existing) co_return fail(existing.error());
    auto& metadata = resource.get_object()["metadata"];
    if (!metadata.is_object()) metadata = json::object();
    metadata.get_object()["resourceVersion"] = textAt(*existing, "metadata", "resourceVersion");
  }
  request.body = toJson(resource);
  co_return request;
}

Task<Operations::Attempt> Operations::write(const Operation& operation, json::value resource,
                                            const OperationContext& context) {
  Attempt attempt;
  json::value subject = resource;
  if (operation.kind == Kind::Create && !operation.subresource.empty()) {
    // A Binding or an Eviction is sent to the pod of its name.
    subject.get_object()["apiVersion"] = "v1";
    subject.get_object()["kind"] = "Pod";
  }
  auto resolving = targetOf(subject, context.namespace_);
  const auto target = co_await resolving;
  if (!target) {
    attempt.error = target.error().message;
    co_return attempt;
  }
  if (target->type.namespaced) {
    auto& metadata = resource.get_object()["metadata"];
    if (!metadata.is_object()) metadata = json::object();
    metadata.get_object()["namespace"] = target->key.namespace_;
  }
  api::StringMap query{{"fieldManager", kFieldManager}};
  if (operation.dryRun) query["dryRun"] = "All";
  Result<json::value> reply;
  bool created = false;
  if (operation.kind == Kind::Apply && !target->key.name.empty()) {
    auto task = apply(*target, std::move(resource), std::move(query), created);
    reply = co_await task;
  } else {
    auto making = requestOf(operation, *target, std::move(resource));
    auto request = co_await making;
    if (!request) {
      attempt.error = request.error().message;
      co_return attempt;
    }
    request->query = std::move(query);
    created = request->verb == kube::Verb::Create && request->subresource.empty();
    auto task = call(*std::move(request));
    reply = co_await task;
  }
  if (reply) {
    attempt.object = *std::move(reply);
    attempt.created = created && !operation.dryRun;
  } else {
    attempt.error = reply.error().message;
  }
  co_return attempt;
}

Task<Result<json::value>> Operations::apply(Target target, json::value resource,
                                            api::StringMap query, bool& created) {
  auto getting = call(kube::makeRequest(kube::Verb::Get, target.type, target.key));
  const auto existing = co_await getting;
  if (!existing && existing.error().code != ErrorCode::NotFound) co_return fail(existing.error());
  created = !existing;
  kube::Request request =
      kube::makeRequest(created ? kube::Verb::Create : kube::Verb::Patch, target.type, target.key);
  if (created) request.name.clear();
  request.query = std::move(query);
  request.patchType = kube::PatchType::Merge;
  request.body = toJson(resource);
  auto task = call(std::move(request));
  auto reply = co_await task;
  co_return reply;
}

Task<Operations::Attempt> Operations::check(const Operation& operation, const AssertionTree& tree,
                                            const Bindings& bindings,
                                            const OperationContext& context) {
  Attempt attempt;
  const auto selection = selectionOf(tree.document(), bindings);
  if (!selection) {
    attempt.error = selection.error().message;
    co_return attempt;
  }
  std::vector<json::value> candidates{nullptr};  // an assertion about bindings only
  const bool aboutObjects = !selection->apiVersion.empty() && !selection->kind.empty();
  if (aboutObjects) {
    auto task = select(*selection, context.namespace_);
    auto objects = co_await task;
    if (!objects) {
      attempt.error = objects.error().message;
      co_return attempt;
    }
    candidates = *std::move(objects);
  }
  bool holds = false;
  for (auto& candidate : candidates) {
    auto mismatches = tree.match(candidate, bindings);
    if (!mismatches) mismatches = std::vector{Mismatch{"", mismatches.error().message}};
    if (mismatches->empty()) {
      holds = true;
      attempt.object = std::move(candidate);
      break;
    }
    const std::string title = aboutObjects ? titleOf(candidate) : "";
    attempt.deviations.push_back({title, *std::move(mismatches), std::move(candidate), {}});
  }
  if (operation.kind == Kind::Error) {
    attempt.deviations.clear();
    if (holds) attempt.error = "it matches but must not: " + titleOf(attempt.object);
    co_return attempt;
  }
  if (holds) co_return attempt;
  std::stable_sort(
      attempt.deviations.begin(), attempt.deviations.end(),
      [](const auto& a, const auto& b) { return a.mismatches.size() < b.mismatches.size(); });
  const std::size_t count = attempt.deviations.size();
  if (count > kMaxDeviations) attempt.deviations.resize(kMaxDeviations);
  attempt.error = count == 0   ? "the object does not exist"
                  : count == 1 ? joined(attempt.deviations[0].mismatches)
                               : fmt::format("none of {} objects is as expected", count);
  co_return attempt;
}

Task<Result<std::vector<json::value>>> Operations::select(Selection selection,
                                                          std::string namespace_) {
  auto resolving = resolver_.resolve(selection.apiVersion, selection.kind);
  const auto type = co_await resolving;
  if (!type) co_return fail(type.error());
  if (!selection.namespace_.empty())
    namespace_ = selection.namespace_ == "*" ? "" : selection.namespace_;
  if (!type->namespaced) namespace_.clear();
  std::vector<json::value> objects;
  if (!selection.name.empty()) {
    api::ObjectKey key{namespace_, selection.name};
    auto task = kube::getObject(environment_.api(), *type, std::move(key));
    auto object = co_await task;
    if (!object && object.error().code != ErrorCode::NotFound)
      co_return fail(std::move(object.error()));
    if (object) objects.push_back(*std::move(object));
    co_return objects;
  }
  auto task = kube::listObjects(environment_.api(), *type, namespace_, selection.labelSelector, "");
  auto list = co_await task;
  if (!list) co_return fail(std::move(list.error()));
  for (auto& item : find(*list, "items")->get_array()) {
    // The items of a list lack apiVersion and kind.
    json::object object{{"apiVersion", selection.apiVersion}, {"kind", selection.kind}};
    for (auto& member : item.get_object()) object[member.key()] = std::move(member.value());
    objects.emplace_back(std::move(object));
  }
  co_return objects;
}

Task<std::vector<std::string>> Operations::eventsOf(const json::value& object) {
  std::vector<std::string> lines;
  const std::string name(textAt(object, "metadata", "name"));
  if (name.empty()) co_return lines;
  std::string namespace_(textAt(object, "metadata", "namespace"));
  if (namespace_.empty()) namespace_ = "default";
  const std::string kind(textAt(object, "kind"));
  auto task = select({"v1", "Event", namespace_, "", ""}, namespace_);
  const auto events = co_await task;
  if (!events) co_return lines;
  for (const auto& event : *events) {
    if (textAt(event, "involvedObject", "name") == name &&
        textAt(event, "involvedObject", "kind") == kind) {
      lines.push_back(eventLine(event));
    }
  }
  co_return lines;
}

}  // namespace koord::scenario
