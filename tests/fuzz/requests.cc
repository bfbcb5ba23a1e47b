// Requests to the API server, as they come from the network: parameters of reads, tokens that
// continue a list, and whole requests. Each gets a response, and never by an exception. The server
// is rebuilt for every input that writes, so that an input does the same whatever came before it.

#include "apiserver/http_front.h"
#include "base/virtual_loop.h"
#include "fuzz.h"
#include "net/fake_responder.h"
#include "net/tls.h"
#include "net/url.h"

namespace koord::fuzz {
namespace {

using namespace std::chrono_literals;

class Served {
 public:
  Served() {
    auto opened = apiserver::Server::open(loop_, {.rbac = true});
    check(opened.has_value(), "a server without a database starts");
    server_ = *std::move(opened);
    apiserver::HttpFrontOptions options;
    options.listen = "";
    options.tokens["secret"] = apiserver::User{};
    front_ = *apiserver::HttpFront::start(*server_, std::move(options));
    const auto post = [&](const std::string& path, const std::string& body) {
      const auto made = send("POST", path, {}, body);
      check(made->status == 201, "what the fuzzer works on is made");
    };
    for (const std::string name : {"a", "b", "c"}) {
      post("/api/v1/namespaces", R"({"metadata":{"name":")" + name + R"("}})");
      const std::string of = "/api/v1/namespaces/" + name;
      for (const std::string pod : {"p", "q", "r"})
        post(of + "/pods",
             R"({"metadata":{"name":")" + pod +
                 R"(","labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i"}]}})");
      post(of + "/configmaps", R"({"metadata":{"name":"m"},"data":{"k":"v"}})");
    }
    post(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        R"({"metadata":{"name":"gizmos.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
             "names":{"plural":"gizmos","kind":"Gizmo"},"versions":[
             {"name":"v1","served":true,"storage":true,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},
              "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},
             {"name":"v2","served":true,"storage":false,
              "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})");
    post("/apis/example.com/v1/namespaces/a/gizmos",
         R"({"metadata":{"name":"g"},"spec":{"replicas":1}})");
  }
  ~Served() {
    front_.reset();
    loop_.runReady();
  }

  std::shared_ptr<net::FakeResponder> send(std::string method, std::string target,
                                           net::Headers headers, std::string body) {
    net::ServerRequest request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.headers = std::move(headers);
    request.headers.push_back({"Authorization", "Bearer secret"});
    request.body = std::move(body);
    auto responder = std::make_shared<net::FakeResponder>();
    front_->handle(std::move(request), responder);
    loop_.runReady();
    loop_.advance(1s);
    check(responder->status != 0, "a request is answered");
    check(responder->body.find("unexpected exception") == std::string::npos,
          "without an exception");
    if (auto lost = std::exchange(responder->closed, nullptr)) lost();
    return responder;
  }

 private:
  VirtualLoop loop_;
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<apiserver::HttpFront> front_;
};

// For inputs that only read.
Served& standing() {
  static Served served;
  return served;
}

}  // namespace

// What stands behind the question mark.
void queries(std::string_view input) {
  for (const char* path :
       {"/api/v1/namespaces/a/pods", "/api/v1/pods", "/api/v1/namespaces/a/pods/p",
        "/apis/example.com/v2/namespaces/a/gizmos", "/api/v1/namespaces/a/pods/p/log",
        "/apis/events.k8s.io/v1/events", "/api/v1/namespaces/a/configmaps/m", "/readyz"})
    standing().send("GET", std::string(path) + "?" + std::string(input), {}, "");
  standing().send("GET", "/api/v1/namespaces/b/pods?watch=1&" + std::string(input),
                  {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}}, "");
}

// The JSON within a continue token. However it lies, a page has only what the path is about, and
// nothing from in front of where the token says.
void continueTokens(std::string_view input) {
  const auto token = net::percentEncode(net::base64Encode(input));
  for (const std::string namespace_ : {"a", "b", "c", ""}) {
    const auto path =
        namespace_.empty() ? "/api/v1/pods" : "/api/v1/namespaces/" + namespace_ + "/pods";
    const auto answer = standing().send("GET", path + "?limit=2&continue=" + token, {}, "");
    check(answer->status == 200 || answer->status == 400 || answer->status == 410,
          "a token is taken, refused or too old");
    if (answer->status != 200) continue;
    const auto page = parseJson(answer->body);
    check(page && find(*page, "items"), "a page is a list");
    const auto start = parseJson(input);
    const auto after = start ? textAt(*start, "start") : std::string_view();
    for (const auto& item : find(*page, "items")->get_array()) {
      const auto in = textAt(item, "metadata", "namespace");
      check(namespace_.empty() || in == namespace_, "of the namespace");
      check(std::string(in) + "/" + std::string(textAt(item, "metadata", "name")) > after,
            "behind the start");
    }
  }
}

// "METHOD TARGET", headers, an empty line and a body, with single line breaks.
void requests(std::string_view input) {
  auto [line, rest] = firstLine(input);
  const auto space = line.find(' ');
  if (space == line.npos) return;
  net::Headers headers;
  while (!rest.empty()) {
    auto [header, more] = firstLine(rest);
    rest = more;
    if (header.empty()) break;
    const auto colon = header.find(": ");
    if (colon != header.npos)
      headers.push_back(
          {std::string(header.substr(0, colon)), std::string(header.substr(colon + 2))});
  }
  const std::string method(line.substr(0, space)), target(line.substr(space + 1));
  if (method == "GET" || method == "HEAD") {
    standing().send(method, target, std::move(headers), std::string(rest));
    return;
  }
  Served served;
  served.send(method, target, std::move(headers), std::string(rest));
  // What was taken can be read again, in every form.
  for (const char* path : {"/api/v1/pods", "/api/v1/namespaces", "/apis/example.com/v2/gizmos"})
    for (const char* form : {"application/json", "application/json;as=Table;v=v1;g=meta.k8s.io"})
      check(served.send("GET", path, {{"Accept", form}}, "")->status < 500, "lists can be read");
}

}  // namespace koord::fuzz
