#include "apiserver/pod_stream.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>

#include "base/ascii.h"

namespace koord::apiserver {

namespace {

constexpr const char* kFlags[] = {"stdin", "stdout", "stderr", "tty"};

// As Kubernetes reads a query: present without a value is true.
bool isTrue(std::string_view value) {
  return lowered(value) != "false" && value != "0";
}

}  // namespace

std::string_view streamOptionsKind(std::string_view subresource) {
  if (subresource == "exec") return "PodExecOptions";
  if (subresource == "attach") return "PodAttachOptions";
  return subresource == "portforward" ? "PodPortForwardOptions" : "";
}

bool isPodStream(const kube::Request& request) {
  return request.group.empty() && request.resource == "pods" &&
         !streamOptionsKind(request.subresource).empty() &&
         (request.verb == kube::Verb::Get || request.verb == kube::Verb::Create);
}

json::value streamOptions(std::string_view subresource, const net::QueryParams& query) {
  json::object options{{"kind", streamOptionsKind(subresource)}, {"apiVersion", "v1"}};
  json::array command;
  json::array ports;
  for (const auto& [name, value] : query) {
    if (subresource == "portforward") {
      std::int64_t port = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), port);
      if (name == "ports" && error == std::errc{} && end == value.data() + value.size())
        ports.emplace_back(port);
    } else if (name == "command" && subresource == "exec") {
      command.emplace_back(value);
    } else if (name == "container") {
      options.emplace(name, value);
    }
  }
  for (const auto* flag : kFlags) {
    if (subresource == "portforward") break;
    const auto first =
        std::ranges::find(query, flag, [](const auto& param) { return param.first; });
    if (first != query.end() && isTrue(first->second)) options.emplace(flag, true);
  }
  if (!command.empty()) options["command"] = std::move(command);
  if (!ports.empty()) options["ports"] = std::move(ports);
  return options;
}

net::QueryParams streamQuery(const json::value& options) {
  net::QueryParams query;
  if (const auto container = textAt(options, "container"); !container.empty())
    query.emplace_back("container", container);
  for (const auto* flag : kFlags)
    if (const auto* value = find(options, flag); value && value->is_bool() && value->get_bool())
      query.emplace_back(flag, "true");
  const auto* command = find(options, "command");
  if (command && command->is_array())
    for (const auto& word : command->get_array())
      if (word.is_string()) query.emplace_back("command", std::string(word.get_string()));
  const auto* ports = find(options, "ports");
  if (ports && ports->is_array())
    for (const auto& port : ports->get_array()) query.emplace_back("ports", toJson(port));
  return query;
}

}  // namespace koord::apiserver
