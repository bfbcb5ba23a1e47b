#pragma once

// From a request's path and method to the function that answers it. Used on one executor.
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

  // A path that ends with a slash takes everything below it, any other only itself; the longest
  // that fits wins. Method "" takes all; GET also takes HEAD. A later add for the same method and
  // path replaces.
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

// Short answers. They are not to be cached, nor to be taken for anything but what they say they
// are.
void sendText(Responder& responder, int status, std::string text,
              std::string_view contentType = "text/plain; charset=utf-8");
void sendJson(Responder& responder, int status, const json::value& value);

}  // namespace koord::net
