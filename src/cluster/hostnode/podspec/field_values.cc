#include "cluster/hostnode/podspec/field_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "model/resources.h"
#include "model/well_known.h"

namespace koord::cluster {

namespace {

// Text in double quotes, like Go's %q, but with non-ASCII text unchanged.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    static constexpr std::string_view kSpecial = "\a\b\f\n\r\t\v\\\"";
    static constexpr std::string_view kLetters = "abfnrtv\\\"";
    if (const auto at = kSpecial.find(c); at != std::string_view::npos) {
      out += '\\';
      out += kLetters[at];
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string linesOf(const api::StringMap& map) {
  std::map<std::string, std::string> sorted;
  for (const auto& [key, value] : map) sorted[key] = value;
  std::string lines;
  for (const auto& [key, value] : sorted)
    lines += (lines.empty() ? "" : "\n") + key + "=" + quoted(value);
  return lines;
}

// metadata.labels['x'] and metadata.annotations['x']: nullopt when the path is neither.
std::optional<std::string> subscript(const api::ObjectMeta& meta, std::string_view path) {
  const std::pair<std::string_view, const api::StringMap*> maps[] = {
      {"metadata.labels['", &meta.labels}, {"metadata.annotations['", &meta.annotations}};
  for (const auto& [prefix, map] : maps) {
    if (!path.starts_with(prefix) || !path.ends_with("']")) continue;
    const auto* value =
        api::findIn(*map, path.substr(prefix.size(), path.size() - prefix.size() - 2));
    return value ? *value : std::string();
  }
  return std::nullopt;
}

std::optional<std::string> metadataValue(const api::ObjectMeta& meta, std::string_view path) {
  if (path == "metadata.name") return meta.name;
  if (path == "metadata.namespace") return meta.namespace_;
  if (path == "metadata.uid") return meta.uid;
  return subscript(meta, path);
}

std::unexpected<Error> unknownField(const std::string& path) {
  return fail(ErrorCode::Invalid, fmt::format("fieldRef {} is not supported", path));
}

const api::Container* findContainer(const api::Pod& pod, const std::string& name) {
  for (const auto* list : {&pod.spec.containers, &pod.spec.initContainers}) {
    const auto found = std::ranges::find(*list, name, &api::Container::name);
    if (found != list->end()) return found;
  }
  return nullptr;
}

std::int64_t divideRoundingUp(std::int64_t amount, std::int64_t unit) {
  return unit <= 1 ? amount : amount / unit + (amount % unit > 0 ? 1 : 0);
}

}  // namespace

Result<std::string> fieldValue(const FieldContext& context, const std::string& path) {
  if (auto value = metadataValue(context.pod.metadata, path)) return *std::move(value);
  if (path == "spec.nodeName") return context.pod.spec.nodeName;
  if (path == "spec.serviceAccountName") return context.pod.details.serviceAccountName;
  if (path == "status.hostIP" || path == "status.podIP" || path == "status.hostIPs" ||
      path == "status.podIPs")
    return context.hostIp;
  return unknownField(path);
}

Result<std::string> fieldFile(const FieldContext& context, const std::string& path) {
  if (auto value = metadataValue(context.pod.metadata, path)) return *std::move(value);
  if (path == "metadata.labels") return linesOf(context.pod.metadata.labels);
  if (path == "metadata.annotations") return linesOf(context.pod.metadata.annotations);
  return unknownField(path);
}

Result<std::string> resourceValue(const FieldContext& context,
                                  const spec::ResourceFieldRef& reference,
                                  const std::string& containerName) {
  const std::string& name =
      reference.containerName.empty() ? containerName : reference.containerName;
  const auto* container = findContainer(context.pod, name);
  if (!container) return fail(ErrorCode::Invalid, fmt::format("container \"{}\" not found", name));
  const std::string_view path = reference.resource;
  const bool limits = path.starts_with("limits.");
  if (!limits && !path.starts_with("requests."))
    return fail(ErrorCode::Invalid, fmt::format("resourceFieldRef {} is not supported", path));
  const std::string_view resource = path.substr(path.find('.') + 1);
  Quantity amount = model::amountOf(
      limits ? container->resources.limits : container->resources.requests, resource);
  if (limits && amount.isZero()) amount = model::amountOf(context.allocatable, resource);
  const Quantity& unit = reference.divisor;
  if (resource == model::kCpu) {
    const std::int64_t milli = unit.isZero() ? 1000 : unit.milliValue();
    return std::to_string(divideRoundingUp(amount.milliValue(), milli));
  }
  return std::to_string(divideRoundingUp(amount.value(), unit.isZero() ? 1 : unit.value()));
}

}  // namespace koord::cluster
