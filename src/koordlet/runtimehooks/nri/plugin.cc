#include "koordlet/runtimehooks/nri/plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/log.h"
#include "base/yaml.h"

namespace koord::koordlet::nri {
namespace {

// In the order of their numbers, from 1.
constexpr std::array<std::string_view, 14> kEvents = {
    "RunPodSandbox",        "StopPodSandbox",
    "RemovePodSandbox",     "CreateContainer",
    "PostCreateContainer",  "StartContainer",
    "PostStartContainer",   "UpdateContainer",
    "PostUpdateContainer",  "StopContainer",
    "RemoveContainer",      "UpdatePodSandbox",
    "PostUpdatePodSandbox", "ValidateContainerAdjustment"};
constexpr int kRunPodSandbox = 1, kRemovePodSandbox = 3;
// The events that this plugin handles or at least answers.
constexpr EventMask kServed = 0x8d | 1 << 1 | 1 << 5 | 1 << 9 | 1 << 10;
constexpr EventMask kPodEvents = 0x7;
constexpr int kCreated = 1, kPaused = 2, kRunning = 3;  // states of containers

std::string lowered(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  return result;
}

Result<EventMask> eventsOf(std::string_view name) {
  const std::string wanted = lowered(name);
  if (wanted == "all") return kServed;
  if (wanted == "pod" || wanted == "podsandbox") return kPodEvents & kServed;
  if (wanted == "container") return ~kPodEvents & kServed;
  for (std::size_t i = 0; i < kEvents.size(); ++i)
    if (lowered(kEvents[i]) == wanted) {
      const EventMask mask = 1 << i;
      if (mask & kServed) return mask;
      return fail(ErrorCode::Invalid, fmt::format("events: no hook handles {}", name));
    }
  return fail(ErrorCode::Invalid, fmt::format("events: unknown event {}", name));
}

HookedPod podOf(const PodSandbox& pod) {
  return {pod.name(),
          pod.namespace_(),
          pod.uid(),
          {pod.labels().begin(), pod.labels().end()},
          {pod.annotations().begin(), pod.annotations().end()},
          pod.linux().cgroup_parent()};
}

HookedContainer containerOf(const Container& container) {
  const auto& cpu = container.linux().resources().cpu();
  return {container.name(), container.id(), static_cast<std::int64_t>(cpu.period().value())};
}

bool any(const ContainerValues& values) {
  return values.shares || values.quota || values.memory ||
         (values.cpuset && !values.cpuset->empty());
}

void put(const ContainerValues& values, LinuxResources& resources) {
  auto& cpu = *resources.mutable_cpu();
  if (values.shares) cpu.mutable_shares()->set_value(static_cast<std::uint64_t>(*values.shares));
  if (values.quota) cpu.mutable_quota()->set_value(*values.quota);
  if (values.cpuset) cpu.set_cpus(*values.cpuset);
  if (values.memory) resources.mutable_memory()->mutable_limit()->set_value(*values.memory);
}

void put(const ContainerStart& start, ContainerAdjustment& adjustment) {
  for (const auto& [name, value] : start.env) {
    auto* variable = adjustment.add_env();
    variable->set_key(name);
    variable->set_value(value);
  }
  for (const auto& mount : start.mounts) {
    auto* added = adjustment.add_mounts();
    added->set_source(mount.source);
    added->set_destination(mount.target);
    added->set_type("bind");
    for (const auto& option : mount.options) added->add_options(option);
  }
  for (const auto& device : start.devices) {
    auto* added = adjustment.mutable_linux()->add_devices();
    added->set_path(device.path);
    added->set_type(device.type);
    added->set_major(device.major);
    added->set_minor(device.minor);
    added->mutable_file_mode()->set_value(device.mode);
  }
  if (start.resctrlGroup)
    adjustment.mutable_linux()->mutable_resources()->mutable_rdt_class()->set_value(
        *start.resctrlGroup);
}

template <class Message>
Result<Message> readAs(const std::string& payload) {
  Message message;
  if (!message.ParseFromString(payload))
    return fail(ErrorCode::BadRequest, "the payload is not the method's message");
  return message;
}

}  // namespace

Result<EventMask> eventsIn(const std::string& config) {
  if (config.empty()) return kOwnEvents;
  const auto document = parseYaml(config);
  if (!document) return fail(document.error());
  const auto* events =
      document->is_object() ? document->get_object().if_contains("events") : nullptr;
  if (!events || !events->is_array()) return fail(ErrorCode::Invalid, "events: must be a list");
  EventMask mask = 0;
  for (const auto& item : events->get_array()) {
    if (!item.is_string()) return fail(ErrorCode::Invalid, "events: must be a list of names");
    std::string_view rest = item.get_string();
    while (!rest.empty()) {
      const std::string_view name = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), name.size() + 1));
      const auto named = eventsOf(name);
      if (!named) return fail(named.error());
      mask |= *named;
    }
  }
  return mask;
}

Result<std::string> Plugin::answer(std::string_view method, const std::string& payload) {
  if (method == "Configure") return configure(payload);
  if (method == "Synchronize") return synchronize(payload);
  if (method == "StateChange") return stateChange(payload);
  if (method == "Shutdown") {
    log::info("NRI: the runtime shuts down");
    return std::string();
  }
  const bool ofContainer = method == "CreateContainer" || method == "UpdateContainer";
  if (!ofContainer && method != "RunPodSandbox" && method != "RemovePodSandbox" &&
      method != "StopPodSandbox" && method != "StartContainer" && method != "StopContainer" &&
      method != "RemoveContainer")
    return fail(ErrorCode::NotFound, fmt::format("unknown method {}", method));
  const auto request = readAs<EventRequest>(payload);
  if (!request) return fail(request.error());
  if (method == "CreateContainer") return createContainer(*request);
  if (method == "UpdateContainer") return updateContainer(*request);
  if (method == "RunPodSandbox") return runPod(request->pod());
  if (method == "RemovePodSandbox") return podRemoved(request->pod());
  return std::string();
}

Result<std::string> Plugin::configure(const std::string& payload) {
  const auto request = readAs<ConfigureRequest>(payload);
  if (!request) return fail(request.error());
  const auto events = eventsIn(request->config());
  if (!events) return fail(events.error());
  log::info("NRI: registered with {} {}", request->runtime_name(), request->runtime_version());
  ConfigureResponse response;
  response.set_events(*events);
  return response.SerializeAsString();
}

// Receives all existing pods and containers, in one or more parts.
Result<std::string> Plugin::synchronize(const std::string& payload) {
  const auto request = readAs<SynchronizeRequest>(payload);
  if (!request) return fail(request.error());
  synchronizing_.MergeFrom(*request);
  SynchronizeResponse response;
  if (request->more()) {
    response.set_more(true);
    return response.SerializeAsString();
  }
  std::map<std::string_view, const PodSandbox*> pods;
  for (const auto& pod : synchronizing_.pods()) pods[pod.id()] = &pod;
  for (const auto& container : synchronizing_.containers()) {
    const auto pod = pods.find(container.pod_sandbox_id());
    const int state = container.state();
    if (pod == pods.end() || off("PreUpdateContainerResources") ||
        (state != kCreated && state != kPaused && state != kRunning))
      continue;
    const auto values = runner_.updateContainer(podOf(*pod->second), containerOf(container));
    if (!values || !any(*values)) continue;
    auto* update = response.add_update();
    update->set_container_id(container.id());
    put(*values, *update->mutable_linux()->mutable_resources());
    update->set_ignore_failure(true);  // it may have ended meanwhile
  }
  log::info("NRI: {} pods and {} containers exist, {} of them get values",
            synchronizing_.pods_size(), synchronizing_.containers_size(), response.update_size());
  synchronizing_.Clear();
  return response.SerializeAsString();
}

Result<std::string> Plugin::createContainer(const EventRequest& request) {
  if (off("PreCreateContainer")) return std::string();
  const auto values =
      runner_.createContainer(podOf(request.pod()), containerOf(request.container()));
  if (!values) return fail(values.error());
  CreateContainerResponse response;
  if (any(*values)) put(*values, *response.mutable_adjust()->mutable_linux()->mutable_resources());
  put(values->start, *response.mutable_adjust());
  return response.SerializeAsString();
}

Result<std::string> Plugin::updateContainer(const EventRequest& request) {
  if (off("PreUpdateContainerResources")) return std::string();
  const auto values =
      runner_.updateContainer(podOf(request.pod()), containerOf(request.container()));
  if (!values) return fail(values.error());
  UpdateContainerResponse response;
  if (any(*values)) {
    auto* update = response.add_update();
    update->set_container_id(request.container().id());
    put(*values, *update->mutable_linux()->mutable_resources());
  }
  return response.SerializeAsString();
}

Result<std::string> Plugin::stateChange(const std::string& payload) {
  const auto event = readAs<StateChangeEvent>(payload);
  if (!event) return fail(event.error());
  if (event->event() == kRunPodSandbox) return runPod(event->pod());
  if (event->event() == kRemovePodSandbox) return podRemoved(event->pod());
  return std::string();
}

Result<std::string> Plugin::runPod(const PodSandbox& pod) {
  if (off("PreRunPodSandbox")) return std::string();
  auto done = runner_.runPod(podOf(pod));
  if (!done) return fail(std::move(done.error()));
  return std::string();
}

Result<std::string> Plugin::podRemoved(const PodSandbox& pod) {
  if (!off("PreRemoveRunPodSandbox")) runner_.podRemoved(podOf(pod));
  return std::string();
}

}  // namespace koord::koordlet::nri
