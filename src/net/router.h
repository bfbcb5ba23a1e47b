#pragma once

// Dispatches requests to functions by path and method. Used on one executor.
//
//   Router router;
//   router.add("GET", "/apis/v1/nodes/", [](RoutedRequest request, std::shared_ptr<Responder>
//   responder) {
//     sendText(*responder, 200, "the node is " + request.rest);
//   });
//   HttpServer::start(executor, options, router.handler());

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "net/http_server.h"
#include "net/url.h"

namespace koord::net {

struct RoutedRequest {
  ServerRequest request;
  Target target;  // decoded path and query
  std::string
      rest;  // what follows the route in the path: "n1" of "/nodes/n1" for the route "/nodes/"
};

class Router {
 public:
  using Handler = std::function<void(RoutedRequest, std::shared_ptr<Responder>)>;

  // A path that ends with a slash matches everything below it, any other only itself; the longest
  // match wins. Method "" matches all methods; GET also matches HEAD. A later add() for the same
  // method and path replaces the earlier one.
  void add(std::string method, std::string path, Handler handler);

  // Answers 404 for unknown paths, 405 with Allow for other methods, 400 for a path that cannot be
  // decoded.
  void handle(ServerRequest request, std::shared_ptr<Responder> responder) const;

  // For HttpServer::start. The router must outlive the server.
  HttpServer::Handler handler() const;

 private:
  using Methods = std::map<std::string, Handler, std::less<>>;
  std::map<std::string, Methods, std::less<>> routes_;
};

// Short answers. Their headers forbid caching and content sniffing.
void sendText(Responder& responder, int status, std::string text,
              std::string_view contentType = "text/plain; charset=utf-8");
void sendJson(Responder& responder, int status, const json::value& value);

}  // namespace koord::net
