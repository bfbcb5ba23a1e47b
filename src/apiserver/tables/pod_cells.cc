#include <fmt/format.h>

#include "apiserver/objects/edit.h"
#include "apiserver/tables/builtin_tables.h"

namespace koord::apiserver {
namespace {

bool conditionIs(const json::value& object, std::string_view type, std::string_view status) {
  const auto* list = at(object, "status", "conditions");
  if (!list || !list->is_array()) return false;
  for (const auto& condition : list->get_array())
    if (textAt(condition, "type") == type && textAt(condition, "status") == status) return true;
  return false;
}

struct Summary {
  std::int64_t ready = 0;
  std::int64_t total = 0;
  std::int64_t restarts = 0;
  std::string reason;
};

// How a container ended, "" while it has not: its reason, its signal or its exit code.
std::string endOf(const json::value& state, std::string_view prefix) {
  const auto* ended = at(state, "state", "terminated");
  if (!ended) return "";
  const auto reason = textAt(*ended, "reason");
  if (!reason.empty()) return std::string(prefix) + std::string(reason);
  const auto signal = integerAt(*ended, 0, "signal");
  return signal != 0 ? fmt::format("{}Signal:{}", prefix, signal)
                     : fmt::format("{}ExitCode:{}", prefix, integerAt(*ended, 0, "exitCode"));
}

// Whether an init container has yet to end; the first such is the reason.
bool addInitContainers(Summary& out, const json::array& states) {
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto& state = states[i];
    out.restarts += integerAt(state, 0, "restartCount");
    const auto* ended = at(state, "state", "terminated");
    if (ended && integerAt(*ended, 0, "exitCode") == 0) continue;
    if (flagAt(state, "started") && at(state, "state", "running")) continue;  // a sidecar
    const auto waiting = textAt(state, "state", "waiting", "reason");
    if (ended) {
      out.reason = endOf(state, "Init:");
    } else if (!waiting.empty() && waiting != "PodInitializing") {
      out.reason = "Init:" + std::string(waiting);
    } else {
      out.reason = fmt::format("Init:{}/{}", i, states.size());
    }
    return true;
  }
  return false;
}

// Whether one is ready; of those that are not, the first is the reason.
bool addContainers(Summary& out, const json::array& states) {
  bool running = false;
  for (auto it = states.rbegin(); it != states.rend(); ++it) {
    const auto& state = *it;
    out.restarts += integerAt(state, 0, "restartCount");
    const auto waiting = textAt(state, "state", "waiting", "reason");
    if (!waiting.empty()) {
      out.reason = waiting;
    } else if (auto text = endOf(state, ""); !text.empty()) {
      out.reason = std::move(text);
    } else if (flagAt(state, "ready") && at(state, "state", "running")) {
      running = true;
      ++out.ready;
    }
  }
  return running;
}

// What "STATUS" says: the most telling reason of the containers, as kubectl shows it.
Summary summarize(const json::value& pod) {
  Summary out;
  out.reason = textAt(pod, "status", "reason");
  if (out.reason.empty()) out.reason = textAt(pod, "status", "phase");
  const auto* spec = find(pod, "spec");
  const auto* containers = spec ? arrayAt(*spec, "containers") : nullptr;
  out.total = containers ? static_cast<std::int64_t>(containers->size()) : 0;
  if (conditionIs(pod, "PodScheduled", "False")) {
    const auto* list = at(pod, "status", "conditions");
    for (const auto& condition : list->get_array())
      if (textAt(condition, "type") == "PodScheduled" &&
          textAt(condition, "reason") == "SchedulingGated")
        out.reason = "SchedulingGated";
  }
  const auto* status = find(pod, "status");
  const auto* init = status ? arrayAt(*status, "initContainerStatuses") : nullptr;
  const bool initializing = init && addInitContainers(out, *init);
  if (!initializing || conditionIs(pod, "Initialized", "True")) {
    const auto* states = status ? arrayAt(*status, "containerStatuses") : nullptr;
    const bool running = states && addContainers(out, *states);
    if (out.reason == "Completed" && running)
      out.reason = conditionIs(pod, "Ready", "True") ? "Running" : "NotReady";
  }
  if (!textAt(pod, "metadata", "deletionTimestamp").empty())
    out.reason = textAt(pod, "status", "reason") == "NodeLost" ? "Unknown" : "Terminating";
  return out;
}

json::value cellOrNone(std::string_view text) {
  return json::string(text.empty() ? "<none>" : text);
}

}  // namespace

json::array podCells(const json::value& pod, WallTime now) {
  const auto summary = summarize(pod);
  const auto* gates = at(pod, "spec", "readinessGates");
  std::string gateText = "<none>";
  if (gates && gates->is_array() && !gates->get_array().empty()) {
    std::size_t met = 0;
    for (const auto& gate : gates->get_array())
      met += conditionIs(pod, textAt(gate, "conditionType"), "True");
    gateText = fmt::format("{}/{}", met, gates->get_array().size());
  }
  return {json::string(fmt::format("{}/{}", summary.ready, summary.total)),
          json::string(summary.reason),
          json::string(std::to_string(summary.restarts)),
          json::string(age(at(pod, "metadata", "creationTimestamp"), now)),
          cellOrNone(textAt(pod, "status", "podIP")),
          cellOrNone(textAt(pod, "spec", "nodeName")),
          cellOrNone(textAt(pod, "status", "nominatedNodeName")),
          json::string(gateText)};
}

json::array nodeCells(const json::value& node, WallTime now) {
  std::string status;
  if (const auto* list = at(node, "status", "conditions"); list && list->is_array())
    for (const auto& condition : list->get_array())
      if (textAt(condition, "type") == "Ready")
        status = textAt(condition, "status") == "True" ? "Ready" : "NotReady";
  if (status.empty()) status = "Unknown";
  if (flagAt(node, "spec", "unschedulable")) status += ",SchedulingDisabled";
  std::string roles;
  constexpr std::string_view kRolePrefix = "node-role.kubernetes.io/";
  if (const auto* labels = at(node, "metadata", "labels"); labels && labels->is_object())
    for (const auto& label : labels->get_object()) {
      const std::string_view key = label.key();
      std::string_view role;
      if (key.starts_with(kRolePrefix)) role = key.substr(kRolePrefix.size());
      if (key == "kubernetes.io/role" && label.value().is_string())
        role = std::string_view(label.value().get_string());
      if (role.empty()) continue;
      if (!roles.empty()) roles += ",";
      roles += role;
    }
  const auto address = [&](std::string_view type) -> std::string {
    if (const auto* list = at(node, "status", "addresses"); list && list->is_array())
      for (const auto& item : list->get_array())
        if (textAt(item, "type") == type) return std::string(textAt(item, "address"));
    return "<none>";
  };
  const auto info = [&](const char* name) -> json::value {
    const auto text = textAt(node, "status", "nodeInfo", name);
    return json::string(text.empty() ? "<unknown>" : text);
  };
  return {json::string(status),
          json::string(roles.empty() ? "<none>" : roles),
          json::string(age(at(node, "metadata", "creationTimestamp"), now)),
          json::string(textAt(node, "status", "nodeInfo", "kubeletVersion")),
          json::string(address("InternalIP")),
          json::string(address("ExternalIP")),
          info("osImage"),
          info("kernelVersion"),
          info("containerRuntimeVersion")};
}

}  // namespace koord::apiserver
