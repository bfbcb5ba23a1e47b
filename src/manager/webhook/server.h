#pragma once

// The webhooks' HTTPS server: admission paths, /healthz and /convert. It starts to listen with the
// first certificates and takes new ones while it runs.

#include <map>
#include <memory>
#include <set>
#include <string>

#include "manager/webhook/admission.h"
#include "manager/webhook/certificates.h"
#include "net/http_server.h"

namespace koord::manager {

class WebhookServer {
 public:
  WebhookServer(Executor& executor, std::string listen)
      : executor_(executor), listen_(std::move(listen)) {}

  // Call before the first setCerts().
  void handle(std::string path, AdmissionHandler handler) {
    handlers_[std::move(path)] = std::move(handler);
  }
  // Adds a JSON page for GET.
  void page(std::string path, std::function<std::string()> text) {
    pages_[std::move(path)] = std::move(text);
  }
  std::set<std::string> paths() const;

  Result<> setCerts(const WebhookCerts& certs);
  bool listening() const { return server_ != nullptr; }
  std::uint16_t port() const { return server_ ? server_->port() : 0; }

 private:
  void serve(net::ServerRequest request, std::shared_ptr<net::Responder> responder);
  Task<void> answer(const AdmissionHandler* handler, std::string body,
                    std::shared_ptr<net::Responder> responder);

  Executor& executor_;
  std::string listen_;
  std::map<std::string, AdmissionHandler> handlers_;
  std::map<std::string, std::function<std::string()>> pages_;
  std::unique_ptr<net::HttpServer> server_;
  TaskGroup tasks_;
};

}  // namespace koord::manager
