#include "apiserver/server/absent.h"

#include <fmt/format.h>

namespace koord::apiserver {
namespace {

struct Absent {
  std::string_view resource;
  std::string_view subresource;  // also with a path below it
  std::string_view instead;
};

constexpr Absent kAbsent[] = {
    {"pods", "exec",
     "run the command on the node (ps shows the pod's processes), or make it a "
     "container of the pod"},
    {"pods", "attach", "follow the output with kubectl logs -f"},
    {"pods", "portforward",
     "pods of the host node share its network: connect to 127.0.0.1 and the port "
     "itself"},
    {"pods", "proxy", "connect to the pod's port on the host"},
    {"services", "proxy", "connect to the port of one of its pods on the host"},
    {"nodes", "proxy", "query kubelet's port directly, with a client certificate of this cluster"},
};

bool isOf(std::string_view subresource, std::string_view name) {
  return subresource == name || (subresource.starts_with(name) && subresource[name.size()] == '/');
}

}  // namespace

std::optional<Reply> absentReply(const kube::Request& request, Store& store) {
  if (!request.group.empty() || request.subresource.empty()) return std::nullopt;
  for (const auto& absent : kAbsent) {
    if (request.resource != absent.resource || !isOf(request.subresource, absent.subresource))
      continue;
    // "services/https:web:443/proxy" is the service "web"
    const bool plain = request.name.find(':') == std::string::npos;
    if (plain && !store.table(request.resource).find(makeKey(request.namespace_, request.name)))
      return failureReply(Failure(ErrorCode::NotFound, fmt::format("{} \"{}\" not found",
                                                                   request.resource, request.name)),
                          request);
    const std::string message = fmt::format("this server has no {}/{}: {}", absent.resource,
                                            absent.subresource, absent.instead);
    Reply reply;
    reply.status = 501;
    reply.error = Error{ErrorCode::Unknown, message, {}};
    reply.body = bytesOf(toJson(
        json::object{{"kind", "Status"},
                     {"apiVersion", "v1"},
                     {"metadata", json::object{}},
                     {"status", "Failure"},
                     {"message", message},
                     {"reason", "NotImplemented"},
                     {"details", json::object{{"name", request.name}, {"kind", request.resource}}},
                     {"code", 501}}));
    return reply;
  }
  return std::nullopt;
}

}  // namespace koord::apiserver
