#include <fmt/format.h>

#include <optional>
#include <set>

#include "apiserver/objects/edit.h"
#include "apiserver/tables/builtin_tables.h"
#include "base/time.h"

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
  std::optional<WallTime> restarted;  // the last time
  std::string reason;
};

// How a container ended: its reason, signal or exit code; "" while it runs.
std::string endOf(const json::value& state, std::string_view prefix) {
  const auto* ended = at(state, "state", "terminated");
  if (!ended) return "";
  const auto reason = textAt(*ended, "reason");
  if (!reason.empty()) return std::string(prefix) + std::string(reason);
  const auto signal = integerAt(*ended, 0, "signal");
  return signal != 0 ? fmt::format("{}Signal:{}", prefix, signal)
                     : fmt::format("{}ExitCode:{}", prefix, integerAt(*ended, 0, "exitCode"));
}

void addRestarts(Summary& out, const json::value& state) {
  out.restarts += integerAt(state, 0, "restartCount");
  const auto ended = parseTime(textAt(state, "lastState", "terminated", "finishedAt"));
  if (ended && (!out.restarted || *out.restarted < *ended)) out.restarted = *ended;
}

// Names of init containers that keep running.
std::set<std::string_view> sidecarsOf(const json::value& spec) {
  std::set<std::string_view> out;
  if (const auto* containers = arrayAt(spec, "initContainers"))
    for (const auto& container : *containers)
      if (textAt(container, "restartPolicy") == "Always") out.insert(textAt(container, "name"));
  return out;
}

// Returns true if an init container has not finished; the first such container is the reason.
bool addInitContainers(Summary& out, const json::array& states,
                       const std::set<std::string_view>& sidecars, std::size_t count) {
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto& state = states[i];
    addRestarts(out, state);
    const auto* ended = at(state, "state", "terminated");
    if (ended && integerAt(*ended, 0, "exitCode") == 0) continue;
    if (sidecars.contains(textAt(state, "name")) && flagAt(state, "started")) {
      out.ready += flagAt(state, "ready");
      continue;
    }
    const auto waiting = textAt(state, "state", "waiting", "reason");
    if (ended) {
      out.reason = endOf(state, "Init:");
    } else if (!waiting.empty() && waiting != "PodInitializing") {
      out.reason = "Init:" + std::string(waiting);
    } else {
      out.reason = fmt::format("Init:{}/{}", i, count);
    }
    return true;
  }
  return false;
}

// The first container that is not ready is the reason.
void addContainers(Summary& out, const json::array& states, bool podIsReady) {
  bool running = false;
  std::string failure;
  for (auto it = states.rbegin(); it != states.rend(); ++it) {
    const auto& state = *it;
    addRestarts(out, state);
    const auto waiting = textAt(state, "state", "waiting", "reason");
    if (!waiting.empty()) {
      out.reason = waiting;
    } else if (auto text = endOf(state, ""); !text.empty()) {
      if (integerAt(state, 0, "state", "terminated", "exitCode") != 0) failure = text;
      out.reason = std::move(text);
    } else if (flagAt(state, "ready") && at(state, "state", "running")) {
      running = true;
      ++out.ready;
    }
  }
  if (out.reason != "Completed") return;
  if (running && podIsReady) {
    out.reason = "Running";
  } else if (!failure.empty()) {
    out.reason = failure;
  } else if (running) {
    out.reason = "NotReady";
  }
}

// The STATUS column: the most specific reason of the containers, as in kubectl.
Summary summarize(const json::value& pod) {
  Summary out;
  const auto phase = textAt(pod, "status", "phase");
  out.reason = textAt(pod, "status", "reason");
  if (out.reason.empty()) out.reason = phase;
  const json::value none = json::object{};
  const auto* givenSpec = find(pod, "spec");
  const auto& spec = givenSpec ? *givenSpec : none;
  const auto* givenStatus = find(pod, "status");
  const auto& status = givenStatus ? *givenStatus : none;
  const auto lengthOf = [&](const char* list) {
    const auto* items = arrayAt(spec, list);
    return items ? items->size() : 0;
  };
  const auto sidecars = sidecarsOf(spec);
  out.total = static_cast<std::int64_t>(lengthOf("containers") + sidecars.size());
  if (const auto* conditions = arrayAt(status, "conditions"))
    for (const auto& condition : *conditions)
      if (textAt(condition, "type") == "PodScheduled" &&
          textAt(condition, "reason") == "SchedulingGated")
        out.reason = "SchedulingGated";
  const auto* init = arrayAt(status, "initContainerStatuses");
  const bool initializing =
      init && addInitContainers(out, *init, sidecars, lengthOf("initContainers"));
  if (!initializing || conditionIs(pod, "Initialized", "True")) {
    // After initialization the restarts of init containers do not count.
    out.restarts = 0;
    out.restarted.reset();
    for (std::size_t i = 0; init && i < init->size(); ++i)
      if (sidecars.contains(textAt((*init)[i], "name"))) addRestarts(out, (*init)[i]);
    if (const auto* states = arrayAt(status, "containerStatuses"))
      addContainers(out, *states, conditionIs(pod, "Ready", "True"));
  }
  if (textAt(pod, "metadata", "deletionTimestamp").empty()) return out;
  if (textAt(pod, "status", "reason") == "NodeLost") {
    out.reason = "Unknown";
  } else if (phase != "Succeeded" && phase != "Failed") {
    out.reason = "Terminating";
  }
  return out;
}

json::value cellOrNone(std::string_view text) {
  return json::string(text.empty() ? "<none>" : text);
}

std::string restartsText(const Summary& summary, WallTime now) {
  const auto count = std::to_string(summary.restarts);
  if (summary.restarts == 0 || !summary.restarted) return count;
  return fmt::format("{} ({} ago)", count, humanDuration(now - *summary.restarted));
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
          json::string(restartsText(summary, now)),
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
