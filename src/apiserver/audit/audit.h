#pragma once

// The audit log: one line of JSON per HTTP request, an audit.k8s.io/v1 Event at level Metadata and
// stage ResponseComplete. Health requests and requests of components in the same process are not
// recorded.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "apiserver/authz/attributes.h"
#include "base/random.h"
#include "net/http_server.h"

namespace koord::apiserver {

struct AuditEvent {
  WallTime received{};
  WallTime completed{};
  std::string method;
  std::string uri;
  std::string remote;  // "127.0.0.1:50412"
  std::string userAgent;
  std::optional<User> user;              // nullopt if the credentials were rejected
  std::optional<User> impersonated;      // the user that the request acts as
  std::optional<kube::Request> request;  // nullopt unless for a resource
  Decision decision{true, ""};
  std::map<std::string, std::string> annotations;  // of admission
  int code = 0;
};
// Without the newline.
std::string auditText(const AuditEvent& event, const std::string& id);

using AuditSink = std::function<void(const AuditEvent& event)>;

// Appends to a file that only its owner may read. One thread at a time.
Result<AuditSink> openAuditLog(const std::string& path, Random random);

// Reports an answer to the sink when it is complete or the connection is closed.
class AuditedResponder final : public net::Responder {
 public:
  AuditedResponder(std::shared_ptr<net::Responder> inner, const Clock& clock, AuditSink sink,
                   AuditEvent event)
      : inner_(std::move(inner)), clock_(clock), sink_(std::move(sink)), event_(std::move(event)) {}
  ~AuditedResponder() override { complete(500); }

  AuditEvent& event() { return event_; }

  void respond(int status, net::Headers headers, Bytes body) override;
  void begin(int status, net::Headers headers) override;
  void upgrade(net::Headers headers, OnInput onInput) override;
  void consumed(std::size_t bytes) override { inner_->consumed(bytes); }
  void write(Bytes chunk) override { inner_->write(std::move(chunk)); }
  void end() override;
  std::size_t queuedBytes() const override { return inner_->queuedBytes(); }
  void abort() override;
  void onClosed(Callback fn) override { inner_->onClosed(std::move(fn)); }

 private:
  void complete(int status);

  std::shared_ptr<net::Responder> inner_;
  const Clock& clock_;
  AuditSink sink_;  // null once it was called
  AuditEvent event_;
};

}  // namespace koord::apiserver
