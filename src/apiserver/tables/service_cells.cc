#include "apiserver/tables/service_cells.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "apiserver/objects/edit.h"

namespace koord::apiserver {
namespace {

constexpr std::size_t kShown = 3;

const json::array& listOf(const json::value& object, const char* field) {
  static const json::array none;
  const auto* list = arrayAt(object, field);
  return list ? *list : none;
}

// "a,b,c + 2 more..."; `empty` for nothing.
std::string firstOf(std::vector<std::string> texts, const char* empty = "<unset>") {
  if (texts.empty()) return empty;
  const std::size_t more = texts.size() > kShown ? texts.size() - kShown : 0;
  texts.resize(texts.size() - more);
  std::string out = fmt::format("{}", fmt::join(texts, ","));
  if (more > 0) out += fmt::format(" + {} more...", more);
  return out;
}

}  // namespace

std::string externalAddresses(const json::value& service) {
  const auto* spec = find(service, "spec");
  if (!spec) return "<none>";
  if (textAt(*spec, "type") == "ExternalName") return std::string(textAt(*spec, "externalName"));
  std::vector<std::string> addresses;
  if (textAt(*spec, "type") == "LoadBalancer")
    if (const auto* balancer = at(service, "status", "loadBalancer"))
      for (const auto& ingress : listOf(*balancer, "ingress")) {
        const auto ip = textAt(ingress, "ip");
        addresses.emplace_back(ip.empty() ? textAt(ingress, "hostname") : ip);
      }
  for (const auto& ip : listOf(*spec, "externalIPs"))
    if (ip.is_string()) addresses.emplace_back(ip.get_string());
  if (!addresses.empty()) return fmt::format("{}", fmt::join(addresses, ","));
  return textAt(*spec, "type") == "LoadBalancer" ? "<pending>" : "<none>";
}

std::string endpointsText(const json::value& endpoints) {
  std::vector<std::string> texts;
  for (const auto& subset : listOf(endpoints, "subsets"))
    for (const auto& address : listOf(subset, "addresses")) {
      const auto& ports = listOf(subset, "ports");
      if (ports.empty()) texts.emplace_back(textAt(address, "ip"));
      for (const auto& port : ports)
        texts.push_back(fmt::format("{}:{}", textAt(address, "ip"), integerAt(port, 0, "port")));
    }
  return firstOf(std::move(texts), "<none>");
}

std::string slicePorts(const json::value& slice) {
  std::vector<std::string> texts;
  for (const auto& port : listOf(slice, "ports"))
    texts.push_back(find(port, "port") ? std::to_string(integerAt(port, 0, "port")) : "*");
  return firstOf(std::move(texts));
}

std::string sliceAddresses(const json::value& slice) {
  std::vector<std::string> texts;
  for (const auto& endpoint : listOf(slice, "endpoints"))
    for (const auto& address : listOf(endpoint, "addresses"))
      if (address.is_string()) texts.emplace_back(address.get_string());
  return firstOf(std::move(texts));
}

}  // namespace koord::apiserver
