#include "manager/webhook/webhook_entries.h"

#include <fmt/format.h>

#include <algorithm>

#include "net/tls.h"
#include "net/url.h"

namespace koord::manager {

std::string pathOfEntry(const json::value& entry) {
  if (const auto path = textAt(entry, "clientConfig", "service", "path"); !path.empty())
    return std::string(path);
  const auto url = net::parseUrl(textAt(entry, "clientConfig", "url"));
  return url ? url->target : "";
}

namespace {

// Webhooks whose gates are off by default: not handling these is normal.
constexpr std::string_view kOffByDefault[] = {"/mutate-node-status", "/mutate-reservation",
                                              "/validate-configmap", "/validate-node"};

}  // namespace

std::vector<std::string> unservedEntries(const json::array& wanted,
                                         const std::set<std::string>& servedPaths) {
  std::vector<std::string> unserved;
  for (const auto& entry : wanted) {
    const std::string path = pathOfEntry(entry);
    if (std::ranges::find(kOffByDefault, path) != std::end(kOffByDefault)) continue;
    if (entry.is_object() && !servedPaths.contains(path))
      unserved.push_back(
          fmt::format("{}, path {}", textAt(entry, "name"), path.empty() ? "(none)" : path));
  }
  return unserved;
}

json::array configuredEntries(const json::array& wanted, const std::set<std::string>& servedPaths,
                              const WebhookSettings& settings, std::string_view authorityPem) {
  json::array entries;
  for (const auto& entry : wanted) {
    const std::string path = pathOfEntry(entry);
    if (!entry.is_object() || !servedPaths.contains(path)) continue;
    json::object& configured = entries.emplace_back(entry).get_object();
    json::object client{{"caBundle", net::base64Encode(authorityPem)}};
    if (settings.host.empty()) {
      json::object service{
          {"namespace", settings.podNamespace}, {"name", settings.serviceName}, {"path", path}};
      if (const auto* port = at(entry, "clientConfig", "service", "port")) service["port"] = *port;
      client["service"] = std::move(service);
    } else {
      client["url"] = fmt::format("https://{}:{}{}", settings.host, settings.port, path);
    }
    configured["clientConfig"] = std::move(client);
    if (!settings.podFailurePolicy.empty() && path.ends_with("-pod"))
      configured["failurePolicy"] = settings.podFailurePolicy;
  }
  return entries;
}

}  // namespace koord::manager
