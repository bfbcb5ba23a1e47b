#include "cluster/hostnode/probes/prober.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/fd.h"
#include "base/time.h"
#include "base/utf8.h"
#include "net/url.h"

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {

using Outcome = ProbeResult::Outcome;

constexpr std::size_t kMaxOutput = 10 << 10;
constexpr int kMaxRedirects = 10;
constexpr Duration kFirstPoll = 1ms;
constexpr Duration kMaxPoll = 20ms;

std::string outputOf(std::string_view text) {
  return asUtf8(utf8Prefix(text, kMaxOutput));
}

ProbeResult failure(std::string_view why) {
  return {Outcome::Failure, outputOf(why)};
}
ProbeResult error(std::string_view why) {
  return {Outcome::Error, outputOf(why)};
}

std::string joined(const std::string& host, int port) {
  const bool ipv6 = host.find(':') != std::string::npos;
  return ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

// The target of a redirect on the same host; nullopt otherwise.
std::optional<std::string> redirected(const std::string& url, const net::HttpResponse& reply) {
  if (reply.status < 300 || reply.status >= 400) return std::nullopt;
  const std::string_view location = net::headerOf(reply.headers, "Location");
  const auto hostEnd = url.find('/', url.find("://") + 3);
  const std::string base = url.substr(0, hostEnd);
  if (location.starts_with('/') && !location.starts_with("//")) return base + std::string(location);
  const auto nameEnd = base.rfind(':');
  const std::string name = base.substr(base.find("://") + 3, nameEnd - base.find("://") - 3);
  const auto scheme = location.find("://");
  if (scheme == std::string_view::npos) return std::nullopt;
  if (location.substr(0, scheme) != "http" && location.substr(0, scheme) != "https")
    return std::nullopt;
  const auto rest = location.substr(scheme + 3);
  const bool same = rest.starts_with(name) && (rest.size() == name.size() ||
                                               std::strchr(":/?", rest[name.size()]) != nullptr);
  return same ? std::optional(std::string(location)) : std::nullopt;
}

std::string urlOf(const ProbeTarget& target, const spec::HttpGetAction& action, int port) {
  const std::string& host = action.host.empty() ? target.host : action.host;
  std::string path = action.path;
  if (!path.starts_with('/')) path.insert(0, "/");
  return (action.scheme == "HTTPS" ? "https://" : "http://") + joined(host, port) + path;
}

net::HttpRequest requestOf(const spec::HttpGetAction& action, Duration timeout) {
  static const auto kTrusting = [] {
    net::TlsConfig tls;
    tls.insecureSkipVerify = true;
    return std::make_shared<const net::TlsConfig>(std::move(tls));
  }();
  net::HttpRequest request;
  request.tls = kTrusting;
  request.http2 = false;
  request.timeout = std::chrono::ceil<std::chrono::milliseconds>(timeout);
  request.connectTimeout = request.timeout;
  bool agent = false;
  bool accept = false;
  for (const auto& header : action.httpHeaders) {
    agent |= net::sameHeaderName(header.name, "User-Agent");
    accept |= net::sameHeaderName(header.name, "Accept");
    request.headers.push_back({header.name, header.value});
  }
  if (!agent) request.headers.push_back({"User-Agent", "kube-probe/1.28"});
  if (!accept) request.headers.push_back({"Accept", "*/*"});
  request.headers.push_back({"Connection", "close"});
  return request;
}

// The answer with the beginning of its body: a server may send without end.
Task<Result<net::HttpResponse>> fetchBeginning(Executor& executor, net::HttpTransport& http,
                                               net::HttpRequest request) {
  using Reply = Result<net::HttpResponse>;
  struct Reading {
    net::HttpResponse response;
    bool over = false;
  };
  auto [future, completer] = Future<Reply>::make(executor);
  const auto reading = std::make_shared<Reading>();
  const auto finish = [reading, completer = completer](Result<> end) {
    if (std::exchange(reading->over, true)) return;
    completer.complete(end ? Reply(std::move(reading->response)) : fail(std::move(end.error())));
  };
  net::StreamSink sink;
  sink.onHead = [reading](net::HttpResponse head) { reading->response = std::move(head); };
  sink.onChunk = [reading, finish](std::string chunk) {
    std::string& body = reading->response.body;
    body.append(chunk, 0, kMaxOutput - std::min(body.size(), kMaxOutput));
    if (body.size() >= kMaxOutput) finish({});
  };
  sink.onClosed = finish;
  const auto running = http.stream(executor, std::move(request), std::move(sink));
  auto answer = std::move(future);
  auto reply = co_await answer;
  co_return reply;
}

// An errno as text, as Go writes it.
std::string errnoText(int code) {
  std::string words = std::strerror(code);
  words[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(words[0])));
  return words;
}

// A connecting socket.
Result<Fd> beginConnect(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  // Resolving names would block; only localhost is common here.
  const std::string address = host == "localhost" ? "127.0.0.1" : host;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
    return fail(ErrorCode::Invalid, fmt::format("lookup {}: not an address", host));
  Fd fd(::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int status = !fd ? -1 : ::connect(fd.get(), found->ai_addr, found->ai_addrlen);
  const int code = errno;
  ::freeaddrinfo(found);
  if (fd && (status == 0 || code == EINPROGRESS)) return fd;
  return fail(ErrorCode::Unavailable, "connect: " + errnoText(code));
}

// Whether the connection is established, or why not; nullopt: still connecting.
std::optional<Result<>> connected(int fd) {
  pollfd look{fd, POLLOUT, 0};
  if (::poll(&look, 1, 0) <= 0) return std::nullopt;
  int code = 0;
  socklen_t size = sizeof code;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) != 0) code = errno;
  if (code == 0) return Result<>{};
  return fail(ErrorCode::Unavailable, "connect: " + errnoText(code));
}

}  // namespace

Task<ProbeResult> NetworkProber::probe(ProbeTarget target, spec::Probe probe) {
  const Duration timeout = std::chrono::seconds(std::max(probe.timeoutSeconds, 1));
  if (probe.exec) {
    auto probing = exec(target.containerId, *probe.exec, timeout);
    co_return co_await probing;
  }
  if (probe.httpGet) {
    auto probing = http(std::move(target), *probe.httpGet, timeout);
    co_return co_await probing;
  }
  if (probe.tcpSocket) {
    auto probing = tcp(std::move(target), *probe.tcpSocket, timeout);
    co_return co_await probing;
  }
  if (probe.grpc) {
    auto probing = grpc(std::move(target), *probe.grpc, timeout);
    co_return co_await probing;
  }
  co_return error("missing probe handler");
}

Task<ProbeResult> NetworkProber::exec(std::string id, spec::ExecAction action, Duration timeout) {
  std::vector<std::string> command(action.command.begin(), action.command.end());
  auto running = transports_.command(std::move(id), std::move(command), timeout);
  auto end = co_await running;
  if (!end && end.error().code == ErrorCode::Timeout) co_return failure(end.error().message);
  if (!end) co_return error(end.error().message);
  if (end->exitCode != 0) co_return failure(std::move(end->output));
  co_return ProbeResult{Outcome::Success, {}};
}

Task<Result<net::HttpResponse>> getForProbe(Executor& executor, net::HttpTransport& http,
                                            ProbeTarget target, spec::HttpGetAction action,
                                            Duration timeout) {
  auto port = portOf(action.port, target.ports);
  if (!port) co_return fail(std::move(port.error()));
  net::HttpRequest request = requestOf(action, timeout);
  request.url = urlOf(target, action, *port);
  auto fetching = fetchBeginning(executor, http, std::move(request));
  co_return co_await fetching;
}

Task<ProbeResult> NetworkProber::http(ProbeTarget target, spec::HttpGetAction action,
                                      Duration timeout) {
  auto port = portOf(action.port, target.ports);
  if (!port) co_return error(port.error().message);
  const SteadyTime deadline = executor_.steadyNow() + timeout;
  std::string url = urlOf(target, action, *port);
  for (int i = 0;; ++i) {
    net::HttpRequest request =
        requestOf(action, std::max<Duration>(deadline - executor_.steadyNow(), 1ms));
    request.url = url;
    auto fetching = fetchBeginning(executor_, *transports_.http, std::move(request));
    auto reply = co_await fetching;
    if (!reply && reply.error().code == ErrorCode::Timeout)
      co_return failure(fmt::format("Get \"{}\": context deadline exceeded", url));
    if (!reply) co_return failure(fmt::format("Get \"{}\": {}", url, reply.error().message));
    if (reply->status < 200 || reply->status >= 400)
      co_return failure(fmt::format("HTTP probe failed with statuscode: {}", reply->status));
    if (reply->status < 300) co_return ProbeResult{Outcome::Success, {}};
    auto next = redirected(url, *reply);
    if (!next && net::headerOf(reply->headers, "Location").empty())
      co_return ProbeResult{Outcome::Success, {}};
    if (!next)
      co_return ProbeResult{Outcome::Warning,
                            "Probe terminated redirects, Response body: " + outputOf(reply->body)};
    if (i == kMaxRedirects)
      co_return failure(fmt::format("Get \"{}\": stopped after {} redirects", url, kMaxRedirects));
    url = *std::move(next);
  }
}

Task<ProbeResult> NetworkProber::tcp(ProbeTarget target, spec::TcpSocketAction action,
                                     Duration timeout) {
  auto port = portOf(action.port, target.ports);
  if (!port) co_return error(port.error().message);
  const std::string host = action.host.empty() ? target.host : action.host;
  const std::string prefix = fmt::format("dial tcp {}: ", joined(host, *port));
  const auto socket = beginConnect(host, *port);
  if (!socket) co_return failure(prefix + socket.error().message);
  const SteadyTime deadline = executor_.steadyNow() + timeout;
  for (Duration pause = kFirstPoll;; pause = std::min(pause * 2, kMaxPoll)) {
    auto end = connected(socket->get());
    if (end && *end) co_return ProbeResult{Outcome::Success, {}};
    if (end) co_return failure(prefix + end->error().message);
    if (executor_.steadyNow() >= deadline) co_return failure(prefix + "i/o timeout");
    auto sleeping = sleepFor(executor_, pause);
    co_await sleeping;
  }
}

Task<ProbeResult> NetworkProber::grpc(ProbeTarget target, spec::GrpcAction action,
                                      Duration timeout) {
  if (!transports_.grpc) co_return error("gRPC probes are not supported by this node");
  auto asking = transports_.grpc(joined(target.host, action.port), action.service, timeout);
  co_return co_await asking;
}

}  // namespace koord::cluster
