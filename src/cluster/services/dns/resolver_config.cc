#include "cluster/services/dns/resolver_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>

#include "cluster/services/dns/names.h"
#include "net/dns/server.h"

namespace koord::cluster::services {

namespace {

constexpr std::size_t kMostServers = 3;  // of glibc; kubelet leaves the rest out, too
constexpr std::size_t kMostDomains = 32;

const json::array* listAt(const json::value& config, const char* field) {
  const auto* list = config.is_object() ? find(config, field) : nullptr;
  return list ? list->if_array() : nullptr;
}

// Text that stays in its line of the file.
bool isWord(std::string_view text) {
  return !text.empty() && std::ranges::none_of(text, [](unsigned char c) { return c <= ' '; });
}

void addTexts(const json::value& config, const char* field, std::vector<std::string>& texts) {
  const auto* list = listAt(config, field);
  if (!list) return;
  for (const auto& item : *list)
    if (item.is_string() && isWord(item.get_string()) &&
        std::ranges::find(texts, std::string_view(item.get_string())) == texts.end())
      texts.emplace_back(item.get_string());
}

// Options of the pod replace those of the same name.
void addOptions(const json::value& config, std::vector<std::string>& options) {
  const auto* list = listAt(config, "options");
  if (!list) return;
  for (const auto& item : *list) {
    const std::string name(textAt(item, "name"));
    const std::string value(textAt(item, "value"));
    if (!isWord(name) || (!value.empty() && !isWord(value))) continue;
    std::erase_if(options, [&](const std::string& option) {
      return option == name || option.starts_with(name + ":");
    });
    options.push_back(value.empty() ? name : name + ":" + value);
  }
}

}  // namespace

std::optional<std::string> resolvConfOf(const PodDns& pod, const std::string& namespace_,
                                        const std::string& host, const std::string& server) {
  const bool cluster =
      !server.empty() && (pod.policy == "ClusterFirstWithHostNet" ||
                          (pod.policy != "Default" && pod.policy != "None" && !pod.hostNetwork));
  if (!cluster && pod.policy != "None" && pod.config.is_null()) return std::nullopt;
  std::vector<std::string> servers;
  std::vector<std::string> domains;
  std::vector<std::string> options;
  if (cluster) {
    servers = {server};
    domains = {fmt::format("{}.svc.{}", namespace_, kClusterDomain),
               fmt::format("svc.{}", kClusterDomain), kClusterDomain};
    options = {"ndots:5"};
  } else if (pod.policy != "None") {
    servers = net::dns::nameserversIn(host);
  }
  if (pod.policy != "None")
    for (auto& domain : net::dns::searchIn(host))
      if (std::ranges::find(domains, domain) == domains.end()) domains.push_back(domain);
  addTexts(pod.config, "nameservers", servers);
  addTexts(pod.config, "searches", domains);
  addOptions(pod.config, options);
  servers.resize(std::min(servers.size(), kMostServers));
  domains.resize(std::min(domains.size(), kMostDomains));
  std::string text;
  if (!domains.empty()) text += fmt::format("search {}\n", fmt::join(domains, " "));
  for (const auto& address : servers) text += fmt::format("nameserver {}\n", address);
  if (!options.empty()) text += fmt::format("options {}\n", fmt::join(options, " "));
  return text;
}

}  // namespace koord::cluster::services
