#include "apiserver/objects/validate_container.h"

#include <fmt/format.h>

#include "apiserver/objects/checks.h"
#include "apiserver/objects/edit.h"

namespace koord::apiserver {
namespace {

constexpr const char* kHandlers[] = {"exec", "httpGet", "tcpSocket", "grpc"};

void validateHttp(const json::value& http, const std::string& path, FieldErrors& errors) {
  if (textAt(http, "path").empty()) errors.required(path + ".path");
  if (const auto* port = find(http, "port"))
    validatePortNumberOrName(*port, path + ".port", errors);
  validateOneOf(http, path, "scheme", {"HTTP", "HTTPS"}, false, errors);
}

void validateHandler(const json::value& probe, const std::string& path, FieldErrors& errors) {
  int handlers = 0;
  for (const auto* name : kHandlers) {
    const auto* handler = find(probe, name);
    if (!handler) continue;
    const auto at = fmt::format("{}.{}", path, name);
    if (++handlers > 1) {
      errors.forbidden(at, "may not specify more than 1 handler type");
      continue;
    }
    if (name == kHandlers[0]) {
      const auto* command = arrayAt(*handler, "command");
      if (!command || command->empty()) errors.required(at + ".command");
    } else if (name == kHandlers[1]) {
      validateHttp(*handler, at, errors);
    } else if (name == kHandlers[2]) {
      if (const auto* port = find(*handler, "port"))
        validatePortNumberOrName(*port, at + ".port", errors);
    } else {
      validatePortNumber(integerAt(*handler, 0, "port"), at + ".port", errors);
    }
  }
  if (handlers == 0) errors.required(path, "must specify a handler type");
}

void validateProbe(const json::value& probe, bool readiness, const std::string& path,
                   FieldErrors& errors) {
  validateHandler(probe, path, errors);
  for (const auto* field : {"initialDelaySeconds", "timeoutSeconds", "periodSeconds",
                            "successThreshold", "failureThreshold"})
    if (const auto number = integerAt(probe, 0, field); number < 0)
      errors.invalid(fmt::format("{}.{}", path, field), number,
                     "must be greater than or equal to 0");
  if (const auto* grace = find(probe, "terminationGracePeriodSeconds")) {
    const auto seconds = integerAt(probe, 0, "terminationGracePeriodSeconds");
    if (readiness) {
      errors.invalid(path + ".terminationGracePeriodSeconds", *grace,
                     "must not be set for readinessProbes");
    } else if (seconds <= 0) {
      errors.invalid(path + ".terminationGracePeriodSeconds", seconds, "must be greater than 0");
    }
  }
  if (const auto needed = integerAt(probe, 1, "successThreshold"); !readiness && needed != 1)
    errors.invalid(path + ".successThreshold", needed, "must be 1");
}

}  // namespace

void validateContainerPorts(const json::array& ports, const std::string& path, bool hostNetwork,
                            std::set<std::string>& hostPorts, FieldErrors& errors) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const auto& port = ports[i];
    const auto at = fmt::format("{}[{}]", path, i);
    if (const auto name = textAt(port, "name"); !name.empty()) {
      const auto problems = checkPortName(name);
      for (const auto& wrong : problems) errors.invalid(at + ".name", name, wrong);
      if (problems.empty() && !names.insert(name).second) errors.duplicate(at + ".name", name);
    }
    const auto number = integerAt(port, 0, "containerPort");
    const auto onHost = integerAt(port, 0, "hostPort");
    if (number == 0) {
      errors.required(at + ".containerPort");
    } else {
      validatePortNumber(number, at + ".containerPort", errors);
    }
    if (onHost != 0) validatePortNumber(onHost, at + ".hostPort", errors);
    validateOneOf(port, at, "protocol", {"SCTP", "TCP", "UDP"}, true, errors);
    if (hostNetwork && onHost != number)
      errors.invalid(at + ".containerPort", number,
                     "must match `hostPort` when `hostNetwork` is true");
    if (onHost == 0) continue;
    auto place = fmt::format("{}/{}/{}", textAt(port, "protocol"), textAt(port, "hostIP"), onHost);
    if (hostPorts.contains(place)) errors.duplicate(at + ".hostPort", std::string_view(place));
    hostPorts.insert(std::move(place));
  }
}

void validateProbes(const json::value& container, const std::string& path, FieldErrors& errors) {
  for (const auto* name : {"livenessProbe", "readinessProbe", "startupProbe"})
    if (const auto* probe = find(container, name))
      validateProbe(*probe, std::string_view(name) == "readinessProbe",
                    fmt::format("{}.{}", path, name), errors);
}

}  // namespace koord::apiserver
