#include "apiserver/audit/audit.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "apiserver/server/body.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/time.h"
#include "base/utf8.h"
#include "kube/verb_name.h"

namespace koord::apiserver {
namespace {

std::string verbText(const AuditEvent& event) {
  if (!event.request) {
    std::string out = event.method;
    for (char& c : out)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    return out;
  }
  return std::string(kube::verbName(event.request->verb));
}

json::object userOf(const std::optional<User>& user) {
  if (!user) return {};
  json::object out{{"username", user->name},
                   {"groups", json::array(user->groups.begin(), user->groups.end())}};
  if (!user->uid.empty()) out["uid"] = user->uid;
  return out;
}

json::object objectRef(const kube::Request& request) {
  json::object out{{"resource", request.resource}};
  if (!request.namespace_.empty()) out["namespace"] = request.namespace_;
  if (!request.name.empty()) out["name"] = request.name;
  if (!request.group.empty()) out["apiGroup"] = request.group;
  out["apiVersion"] = request.version;
  if (!request.subresource.empty()) out["subresource"] = request.subresource;
  return out;
}

// "127.0.0.1:50412" without the port; "[::1]:50412" without the brackets, too.
std::string addressOf(const std::string& remote) {
  auto address = remote.substr(0, remote.rfind(':'));
  if (address.size() > 2 && address.front() == '[' && address.back() == ']')
    address = address.substr(1, address.size() - 2);
  return address;
}

// Shared by the copies of the sink.
struct LogFile {
  Fd fd;
  std::string path;
  bool failed = false;

  void append(const std::string& line) {
    if (::write(fd.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size())) return;
    if (!std::exchange(failed, true))
      log::error("{}", errnoError("audit log " + path + ": write", errno).message);
  }
};

}  // namespace

std::string auditText(const AuditEvent& event, const std::string& id) {
  json::object user = userOf(event.user);
  json::object status{{"metadata", json::object{}}};
  if (event.code >= 400) {
    status["status"] = "Failure";
    status["reason"] = reasonOf(codeOfHttpStatus(event.code));
  }
  status["code"] = event.code;
  json::object out{{"kind", "Event"},
                   {"apiVersion", "audit.k8s.io/v1"},
                   {"level", "Metadata"},
                   {"auditID", id},
                   {"stage", "ResponseComplete"},
                   {"requestURI", asUtf8(event.uri)},
                   {"verb", verbText(event)},
                   {"user", std::move(user)},
                   {"sourceIPs", json::array{addressOf(event.remote)}}};
  if (event.impersonated) out["impersonatedUser"] = userOf(event.impersonated);
  if (!event.userAgent.empty()) out["userAgent"] = asUtf8(event.userAgent);
  if (event.request) out["objectRef"] = objectRef(*event.request);
  out["responseStatus"] = std::move(status);
  out["requestReceivedTimestamp"] = formatMicroTime(event.received);
  out["stageTimestamp"] = formatMicroTime(event.completed);
  if (event.user) {
    json::object annotations{
        {"authorization.k8s.io/decision", event.decision.allowed ? "allow" : "forbid"},
        {"authorization.k8s.io/reason", event.decision.reason}};
    for (const auto& [name, value] : event.annotations) annotations[name] = asUtf8(value);
    out["annotations"] = std::move(annotations);
  }
  return toJson(out);
}

Result<AuditSink> openAuditLog(const std::string& path, Random random) {
  auto file = std::make_shared<LogFile>();
  file->path = path;
  file->fd.reset(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (!file->fd) return fail(errnoError("audit log " + path + ": open", errno));
  return [file, random](const AuditEvent& event) mutable {
    file->append(auditText(event, newUid(random)) + "\n");
  };
}

void AuditedResponder::respond(int status, net::Headers headers, Bytes body) {
  inner_->respond(status, std::move(headers), std::move(body));
  complete(status);
}

void AuditedResponder::begin(int status, net::Headers headers) {
  event_.code = status;
  inner_->begin(status, std::move(headers));
}

void AuditedResponder::upgrade(net::Headers headers, OnInput onInput) {
  event_.code = 101;
  inner_->upgrade(std::move(headers), std::move(onInput));
}

void AuditedResponder::end() {
  inner_->end();
  complete(event_.code);
}

void AuditedResponder::abort() {
  inner_->abort();
  complete(event_.code);
}

void AuditedResponder::complete(int status) {
  if (!sink_) return;
  if (event_.code == 0) event_.code = status;
  event_.completed = clock_.wallNow();
  std::exchange(sink_, nullptr)(event_);
}

}  // namespace koord::apiserver
