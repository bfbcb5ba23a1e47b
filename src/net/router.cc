#include "net/router.h"

namespace koord::net {

void Router::add(std::string method, std::string path, Handler handler) {
  routes_[std::move(path)].insert_or_assign(std::move(method), std::move(handler));
}

void Router::handle(ServerRequest request, std::shared_ptr<Responder> responder) const {
  auto target = parseTarget(request.target);
  if (!target) return sendText(*responder, 400, target.error().message + "\n");

  // The path itself, then every folder above it.
  std::string_view path = target->path;
  auto route = routes_.find(path);
  while (route == routes_.end() && path.size() > 1) {
    path = path.substr(0, path.rfind('/', path.size() - 2) + 1);
    route = routes_.find(path);
  }
  if (route == routes_.end()) return sendText(*responder, 404, "404 page not found\n");

  const auto& methods = route->second;
  auto method = methods.find(request.method);
  if (method == methods.end() && request.method == "HEAD") method = methods.find("GET");
  if (method == methods.end()) method = methods.find("");
  if (method == methods.end()) {
    std::string allowed;
    for (const auto& [name, handler] : methods) allowed += (allowed.empty() ? "" : ", ") + name;
    responder->respond(405, {{"Content-Type", "text/plain; charset=utf-8"}, {"Allow", allowed}},
                       "only " + allowed + " is allowed\n");
    return;
  }
  std::string rest = target->path.substr(path.size());
  method->second({std::move(request), *std::move(target), std::move(rest)}, std::move(responder));
}

HttpServer::Handler Router::handler() const {
  return [this](ServerRequest request, std::shared_ptr<Responder> responder) {
    handle(std::move(request), std::move(responder));
  };
}

void sendText(Responder& responder, int status, std::string text, std::string_view contentType) {
  responder.respond(status,
                    {{"Content-Type", std::string(contentType)},
                     {"X-Content-Type-Options", "nosniff"},
                     {"Cache-Control", "no-cache, private"}},
                    std::move(text));
}

void sendJson(Responder& responder, int status, const json::value& value) {
  sendText(responder, status, toJson(value) + "\n", "application/json");
}

}  // namespace koord::net
