#include "runtimeproxy/docker/docker_relay.h"

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/json.h"
#include "base/log.h"

namespace koord::runtimeproxy {
namespace {

constexpr std::size_t kMaxKept = 16 << 20;    // of an intercepted request, or its answer
constexpr std::size_t kMaxQueued = 1 << 20;   // for one reader, before its writer has to wait
constexpr std::size_t kMostAhead = 64 << 10;  // of requests that wait for their turn
constexpr Duration kHookPatience = std::chrono::hours(24);  // HTTP has no deadlines

std::string_view reasonOf(int status) {
  if (status == 400) return "Bad Request";
  if (status == 413) return "Content Too Large";
  return status == 502 ? "Bad Gateway" : "Internal Server Error";
}

// The head for another body, or for a body without chunks.
std::string headWithLength(const HttpHead& head, std::size_t length) {
  std::string_view rest = head.text;
  std::string text;
  for (bool first = true; rest != "\r\n"; first = false) {
    const auto end = rest.find("\r\n") + 2;
    const std::string name = lowered(rest.substr(0, rest.find(':')));
    if (first || (name != "content-length" && name != "transfer-encoding" && name != "expect"))
      text += rest.substr(0, end);
    rest.remove_prefix(end);
  }
  return text + fmt::format("Content-Length: {}\r\n\r\n", length);
}

}  // namespace

DockerRelay::~DockerRelay() {
  if (client_) client_->close();
  if (docker_) docker_->close();
}

void DockerRelay::start(Fd client) {
  client_ = SocketEnd::start(context_.loop, std::move(client), clientUser());
}

void DockerRelay::drain() {
  draining_ = true;
  if (!call_) closeAll();
}

SocketEnd::User DockerRelay::clientUser() {
  const auto self = [weak = weak_from_this()] { return weak.lock(); };
  return {.onBytes =
              [self](std::string_view bytes) {
                if (const auto relay = self()) {
                  if (relay->passThrough_)
                    relay->docker_->write(std::string(bytes));
                  else
                    relay->requests_.add(bytes);
                  relay->pump();
                }
              },
          .onEnd =
              [self] {
                if (const auto relay = self()) relay->clientEnded();
              },
          .onLost =
              [self] {
                if (const auto relay = self()) relay->closeAll();
              },
          .onEmpty =
              [self] {
                if (const auto relay = self(); relay && relay->docker_) relay->docker_->read(true);
              }};
}

SocketEnd::User DockerRelay::dockerUser() {
  const auto self = [weak = weak_from_this()] { return weak.lock(); };
  return {.onBytes =
              [self](std::string_view bytes) {
                if (const auto relay = self()) {
                  relay->answers_.add(bytes);
                  relay->takeAnswers();
                }
              },
          .onEnd =
              [self] {
                if (const auto relay = self()) relay->dockerEnded();
              },
          .onLost =
              [self] {
                if (const auto relay = self()) relay->dockerEnded();
              },
          .onEmpty =
              [self] {
                if (const auto relay = self(); relay && relay->client_) relay->pump();
              }};
}

void DockerRelay::pump() {
  while (client_ && !passThrough_) {
    // The current answer comes first, and bytes that dockerd has not taken stop the reading. A
    // little is read ahead to notice when the client disconnects.
    const bool turn = (!call_ || !call_->asked) && (!docker_ || docker_->queued() < kMaxQueued);
    client_->read(turn || requests_.waiting() < kMostAhead);
    if (!turn) return;
    auto piece = requests_.next();
    if (!piece) return refuse(400, piece.error().message);
    if (!*piece) return;
    request(**std::move(piece));
  }
  if (client_) client_->read(docker_ && docker_->queued() < kMaxQueued);
}

void DockerRelay::beginCall(HttpHead head) {
  call_ = std::make_shared<Call>();
  call_->start = context_.loop.steadyNow();
  if (auto target = dockerTargetOf(head.method, head.target))
    call_->intercepted.emplace(*std::move(target));
  call_->closes = head.closes() || draining_;
  answers_.answers(head.method);
  call_->head = std::move(head);
  if (call_->intercepted) {
    if (!call_->head.header("expect").empty()) client_->write("HTTP/1.1 100 Continue\r\n\r\n");
  } else if (connect()) {
    docker_->write(call_->head.text);
  }
}

void DockerRelay::request(Piece piece) {
  if (piece.kind == Piece::Kind::Head) return beginCall(std::move(piece.head));
  if (!call_) return;  // it has been refused
  if (piece.kind == Piece::Kind::Body && !call_->intercepted)
    return docker_->write(std::move(piece.raw));
  if (piece.kind == Piece::Kind::Body) {
    call_->raw += piece.raw;
    call_->content += piece.content;
    if (call_->raw.size() > kMaxKept)
      refuse(413, fmt::format("a request of more than {} bytes", kMaxKept));
    return;
  }
  call_->asked = true;
  if (call_->intercepted) tasks_.spawn(intercept(call_));
}

bool DockerRelay::connect() {
  if (docker_) return true;
  auto socket = net::connectUnix(context_.dockerSocket);
  if (!socket) {
    context_.metrics.runtimeUnreachable();
    refuse(502, socket.error().message);
    return false;
  }
  dockerDone_ = false;
  answers_ = HttpReader(HttpReader::Role::Response);
  if (call_) answers_.answers(call_->head.method);
  docker_ = SocketEnd::start(context_.loop, *std::move(socket), dockerUser());
  return true;
}

Task<void> DockerRelay::intercept(CallPtr call) {
  const SteadyTime deadline = call->start + kHookPatience;
  auto asking = context_.interceptor.before(*call->intercepted, call->content, deadline);
  const Verdict verdict = co_await asking;
  if (call_ != call) co_return;  // the client has left
  if (verdict.refusal) {
    refuse(500, *verdict.refusal);
    co_return;
  }
  auto [future, completer] = Future<bool>::make(context_.loop);
  call->complete = completer;
  if (!sendIntercepted(*call, verdict.message)) co_return;
  const bool whole = co_await future;
  if (whole) {
    auto finishing =
        context_.interceptor.after(*call->intercepted, call->status, call->answerContent, deadline);
    co_await finishing;
  }
  if (call_ != call || !whole) co_return;
  client_->write(std::move(call->answer));
  if (call_ == call) finish();
}

bool DockerRelay::sendIntercepted(Call& call, const std::optional<std::string>& body) {
  if (!connect()) return false;
  std::string text = std::move(call.raw);
  if (body || !call.head.header("expect").empty()) {
    text = body ? *body : call.content;
    text.insert(0, headWithLength(call.head, text.size()));
  } else {
    text.insert(0, call.head.text);
  }
  call.raw = call.content = {};
  docker_->write(std::move(text));
  return docker_ != nullptr;
}

void DockerRelay::takeAnswers() {
  while (client_ && docker_) {
    if (passThrough_) {
      client_->write(answers_.takeRest());
      break;
    }
    auto piece = answers_.next();
    if (!piece || (*piece && !call_)) {
      log::warn("docker {}: {}", context_.dockerSocket,
                piece ? "a response without a request" : piece.error().message);
      return closeAll();
    }
    if (!*piece) break;
    answer(**std::move(piece));
  }
  if (client_ && docker_ && client_->queued() > kMaxQueued) docker_->read(false);
}

void DockerRelay::answer(Piece piece) {
  Call& call = *call_;
  if (piece.kind == Piece::Kind::Head) {
    call.status = piece.head.status;
    call.closes = call.closes || piece.head.closes();
  }
  const bool end = piece.kind == Piece::Kind::End;
  std::string& bytes = piece.kind == Piece::Kind::Head ? piece.head.text : piece.raw;
  if (call.intercepted) {
    call.answer += bytes;
    call.answerContent += piece.content;
    if (end && call.complete) call.complete->complete(true);
    if (call.answer.size() > kMaxKept) closeAll();
    return;
  }
  if (end) return finish();
  call.answered = true;
  client_->write(std::move(bytes));
  if (docker_ && piece.kind == Piece::Kind::Head && answers_.untilClose()) relayUnparsed();
}

void DockerRelay::relayUnparsed() {
  passThrough_ = true;
  docker_->write(requests_.takeRest());
  client_->read(true);
  if (clientDone_) docker_->endWriting();
}

void DockerRelay::finish() {
  const Call& call = *call_;
  context_.metrics.called(call.intercepted ? nameOf(call.intercepted->target.method) : "other",
                          call.status >= 200 && call.status < 400,
                          context_.loop.steadyNow() - call.start);
  const bool last = call.closes || draining_ || clientDone_;
  // If dockerd answers before the request is complete, the rest cannot be separated from the next
  // request.
  const bool torn = !call.asked;
  call_ = nullptr;
  if (last || torn) return closeAll();
  pump();
}

// Sends an error answer of the proxy and closes the connection.
void DockerRelay::refuse(int status, const std::string& why) {
  if (client_ && (!call_ || !call_->answered)) {
    json::object body{{"message", "koord-runtime-proxy: " + why}};
    if (status == 500) body["message"] = why;
    const std::string text = toJson(body) + "\n";
    client_->write(
        fmt::format("HTTP/1.1 {} {}\r\nContent-Type: application/json\r\nContent-Length: "
                    "{}\r\nConnection: close\r\n\r\n{}",
                    status, reasonOf(status), text.size(), text));
  }
  if (call_)
    context_.metrics.called(
        call_->intercepted ? nameOf(call_->intercepted->target.method) : "other", false,
        context_.loop.steadyNow() - call_->start);
  call_ = nullptr;
  closeAll();
}

void DockerRelay::clientEnded() {
  clientDone_ = true;
  if (!call_ && !passThrough_) return closeAll();
  // Passed on to dockerd, which ends streams whose client only listened.
  if (docker_) docker_->endWriting();
  if (passThrough_ && dockerDone_) closeAll();
}

void DockerRelay::dockerEnded() {
  dockerDone_ = true;
  if (passThrough_) {
    client_->endWriting();
    if (clientDone_) closeAll();
    return;
  }
  docker_->close();
  docker_ = nullptr;
  if (!call_) return;
  // dockerd has not received the call, because hooks are called first. The call will use another
  // connection.
  if (call_->intercepted && !call_->complete) return;
  if (call_->complete && answers_.untilClose()) {
    call_->closes = true;
    return call_->complete->complete(true);
  }
  context_.metrics.runtimeUnreachable();
  if (call_->answered) return closeAll();
  refuse(502, context_.dockerSocket + ": the connection was closed before the response");
}

void DockerRelay::closeAll() {
  const auto keep = shared_from_this();
  if (passThrough_ && call_)
    context_.metrics.called("other", true, context_.loop.steadyNow() - call_->start);
  if (const auto client = std::exchange(client_, nullptr)) client->close(true);
  if (const auto docker = std::exchange(docker_, nullptr)) docker->close();
  if (const CallPtr call = std::exchange(call_, nullptr); call && call->complete)
    call->complete->complete(false);
  if (const auto lost = std::exchange(whenLost_, nullptr)) lost(this);
}

}  // namespace koord::runtimeproxy
