#include "manager/webhook/server.h"

#include "base/log.h"
#include "manager/webhook/conversion.h"
#include "net/answering.h"
#include "net/url.h"

namespace koord::manager {

namespace {

const net::Headers kText{{"Content-Type", "text/plain; charset=utf-8"}};
const net::Headers kJson{{"Content-Type", "application/json"}};

}  // namespace

std::set<std::string> WebhookServer::paths() const {
  std::set<std::string> paths;
  for (const auto& [path, handler] : handlers_) paths.insert(path);
  return paths;
}

Result<> WebhookServer::setCerts(const WebhookCerts& certs) {
  auto tls = std::make_shared<net::ServerTls>();
  tls->certPem = certs.server.certPem;
  tls->keyPem = certs.server.keyPem;
  if (server_) return server_->setTls(*tls);
  net::ServerOptions options;
  options.listen = listen_;
  options.tls = std::move(tls);
  auto server = net::HttpServer::start(
      executor_, std::move(options),
      [this](net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
        serve(std::move(request), std::move(responder));
      });
  if (!server) return fail(std::move(server.error()).within("webhook server"));
  server_ = *std::move(server);
  return {};
}

void WebhookServer::serve(net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
  const auto target = net::parseTarget(request.target);
  const std::string path = target ? target->path : "";
  if (path == "/healthz") return responder->respond(200, kText, "ok");
  if (const auto page = pages_.find(path); page != pages_.end())
    return responder->respond(200, kJson, page->second());
  if (path == "/convert") {
    auto converted = convert(request.body);
    if (!converted) return responder->respond(400, kText, converted.error().message + "\n");
    return responder->respond(200, kJson, *std::move(converted));
  }
  const auto handler = handlers_.find(path);
  if (handler == handlers_.end()) return responder->respond(404, kText, "404 page not found\n");
  if (request.method != "POST")
    return responder->respond(405, kText, "expected a POST with an AdmissionReview\n");
  tasks_.spawn(net::runHandler("POST " + path, responder,
                               answer(&handler->second, std::move(request.body), responder)));
}

Task<void> WebhookServer::answer(const AdmissionHandler* handler, std::string body,
                                 std::shared_ptr<net::Responder> responder) {
  auto review = readReview(body);
  if (!review) {
    responder->respond(200, kJson, writeReview("", "", refuse(400, review.error().message)));
    co_return;
  }
  const std::string version = review->apiVersion;
  const std::string uid = review->request->uid;
  const std::string name = review->request->namespace_ + "/" + review->request->name;
  auto task = (*handler)(*std::move(review->request));
  const Verdict verdict = co_await task;
  if (!verdict.allowed) log::v(2, "refused {}: {}", name, verdict.message);
  responder->respond(200, kJson, writeReview(version, uid, verdict));
}

}  // namespace koord::manager
