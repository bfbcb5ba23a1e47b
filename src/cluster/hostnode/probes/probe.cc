#include "cluster/hostnode/probes/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace koord::cluster {

std::string_view nameOf(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::Startup:
      return "Startup";
    case ProbeKind::Liveness:
      return "Liveness";
    case ProbeKind::Readiness:
      break;
  }
  return "Readiness";
}

Result<int> portOf(const api::IntOrString& port, const api::List<api::ContainerPort>& ports) {
  int number = port.number;
  if (port.isText) {
    const auto named = std::ranges::find(ports, port.text, &api::ContainerPort::name);
    if (named != ports.end()) {
      number = named->containerPort;
    } else {
      const auto* end = port.text.data() + port.text.size();
      const auto [rest, error] = std::from_chars(port.text.data(), end, number);
      if (error != std::errc() || rest != end)
        return fail(ErrorCode::Invalid, fmt::format("couldn't find port: \"{}\"", port.text));
    }
  }
  if (number > 0 && number < 65536) return number;
  return fail(ErrorCode::Invalid, fmt::format("invalid port number: {}", number));
}

std::optional<bool> ProbeCount::add(bool success) {
  run_ = success == last_ ? run_ + 1 : 1;
  last_ = success;
  if (run_ < (success ? successes_ : failures_)) return std::nullopt;
  return success;
}

}  // namespace koord::cluster
