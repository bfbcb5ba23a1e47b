#include <fmt/format.h>

#include "base/yaml.h"
#include "kube/client.h"
#include "scenario/jmespath_values.h"
#include "scenario/kinds.h"
#include "scenario/operation_rules.h"
#include "scenario/operations.h"
#include "scenario/processes.h"

// The operations that neither write objects nor assert: processes, and gathering of diagnostic
// output.

namespace koord::scenario {
namespace {

using Kind = Operation::Kind;

Result<ProcessSpec> specOf(const Operation& operation, const Bindings& bindings,
                           const OperationContext& context, const std::string& kubeconfig) {
  const Process& process = operation.process;
  ProcessSpec spec;
  spec.timeout = operation.timeout.value_or(*context.timeouts.exec);
  spec.folder = (context.folder / process.workDir).string();
  spec.environment = {{"NAMESPACE", context.namespace_}, {"KUBECONFIG", kubeconfig}};
  for (const auto& variable : process.environment) {
    const auto name = renderText(variable.name, bindings);
    if (!name) return fail(name.error());
    const auto value = render(variable.value, bindings);
    if (!value) return fail(Error(value.error()).within("env " + *name));
    spec.environment[*name] = jmespath::plainText(*value);
  }
  if (process.script) {
    spec.arguments = {process.shell};
    spec.arguments.insert(spec.arguments.end(), process.shellArguments.begin(),
                          process.shellArguments.end());
    spec.arguments.push_back(process.content);
  } else {
    spec.arguments = {expandVariables(process.entrypoint, spec.environment)};
    for (const auto& argument : process.arguments) {
      spec.arguments.push_back(expandVariables(argument, spec.environment));
    }
  }
  return spec;
}

// In one line; a script is cut after its first line.
std::string commandLine(const ProcessSpec& spec) {
  std::string line;
  for (const auto& argument : spec.arguments) line += (line.empty() ? "" : " ") + argument;
  const auto newline = line.find('\n');
  const bool more = newline != std::string::npos && newline + 1 < line.size();
  return line.substr(0, newline) + (more ? " ..." : "");
}

// Without fields that only programs read.
json::value withoutInternalFields(json::value object) {
  if (auto* metadata = find(object, "metadata"); metadata && metadata->is_object()) {
    metadata->get_object().erase("managedFields");
  }
  return object;
}

}  // namespace

Task<void> Operations::runProcessOperation(const Operation& operation, const Bindings& bindings,
                                           const OperationContext& context,
                                           OperationOutcome& outcome) {
  const std::string kubeconfig = environment_.kubeconfig();
  if (kubeconfig.empty()) {
    outcome.result.error = "processes cannot run on a cluster on virtual time";
    co_return;
  }
  auto spec = specOf(operation, bindings, context, kubeconfig);
  if (!spec) {
    outcome.result.error = spec.error().message;
    co_return;
  }
  if (!operation.process.hideCommand) outcome.result.target = commandLine(*spec);
  auto running = runProcess(environment_.executor(), *std::move(spec));
  const auto done = co_await running;
  if (!operation.process.hideOutput) outcome.result.output = done.output + done.errorOutput;
  const Bindings inner = bindings.with("stdout", jmespath::textValue(done.output))
                             .with("stderr", jmespath::textValue(done.errorOutput))
                             .with("error", done.error.empty() ? json::value(nullptr)
                                                               : jmespath::textValue(done.error));
  outcome.result.error = done.error;
  if (operation.check) {
    auto mismatches = operation.check->match(nullptr, inner);
    outcome.result.error.clear();
    if (!mismatches) {
      outcome.result.error = mismatches.error().message;
    } else if (!mismatches->empty()) {
      outcome.result.error = done.error.empty() ? "its outcome is not as expected" : done.error;
      outcome.result.deviations.push_back({"", *std::move(mismatches), nullptr, {}});
    }
  }
  if (outcome.result.failed()) co_return;
  auto outputs = addOutputs(operation, nullptr, inner, outcome.bindings);
  if (outputs) {
    outcome.bindings = *std::move(outputs);
  } else {
    outcome.result.error = outputs.error().message;
  }
}

Task<std::string> Operations::logsOf(const Operation& operation, api::ObjectKey pod) {
  auto resolving = resolver_.resolve("v1", "Pod");
  const auto type = co_await resolving;
  if (!type) co_return type.error().message;
  kube::Request request = kube::makeRequest(kube::Verb::Get, *type, pod);
  request.subresource = "log";
  if (!operation.container.empty()) request.query["container"] = operation.container;
  const auto tail = operation.tail.value_or(operation.selection.labelSelector.empty() ? 0 : 10);
  if (tail > 0) request.query["tailLines"] = std::to_string(tail);
  auto task = environment_.api().call(std::move(request));
  const auto reply = co_await task;
  co_return reply ? *reply : reply.error().message;
}

Task<void> Operations::gather(const Operation& operation, const Bindings& bindings,
                              const OperationContext& context, OperationOutcome& outcome) {
  auto selection = renderSelection(operation.selection, bindings);
  if (!selection) {
    outcome.result.error = selection.error().message;
    co_return;
  }
  if (operation.kind == Kind::Events || operation.kind == Kind::PodLogs) {
    selection->apiVersion = "v1";
    selection->kind = operation.kind == Kind::Events ? "Event" : "Pod";
  }
  outcome.result.target = selection->apiVersion + "/" + selection->kind;
  auto selecting = select(*selection, context.namespace_);
  const auto objects = co_await selecting;
  if (!objects) {
    outcome.result.error = objects.error().message;
    co_return;
  }
  std::string& output = outcome.result.output;
  if (objects->empty()) output = "none\n";
  for (const auto& object : *objects) {
    if (operation.kind == Kind::Events) {
      output += fmt::format("{}/{}: {}\n", textAt(object, "involvedObject", "kind"),
                            textAt(object, "involvedObject", "name"), eventLine(object));
      continue;
    }
    output += fmt::format("--- {}\n", titleOf(object));
    if (operation.kind == Kind::PodLogs) {
      auto reading = logsOf(operation, keyOf(object));
      const auto log = co_await reading;
      output += log;
      continue;
    }
    output += toYaml(withoutInternalFields(object));
    if (operation.kind == Kind::Get || !operation.showEvents) continue;
    auto listing = eventsOf(object);
    const auto events = co_await listing;
    if (!events.empty()) output += "events:\n";
    for (const auto& line : events) output += "- " + line + "\n";
  }
}

}  // namespace koord::scenario
