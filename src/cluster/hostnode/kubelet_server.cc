#include "cluster/hostnode/kubelet_server.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/json/object.hpp>
#include <charconv>

#include "base/file.h"
#include "net/tls.h"
#include "net/url.h"

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {

constexpr Duration kFollowPoll = 200ms;
const net::Headers kText = {{"Content-Type", "text/plain; charset=utf-8"}};
const net::Headers kJson = {{"Content-Type", "application/json"}};

bool isTrue(std::string_view text) {
  return text == "true" || text == "1";
}

// Bytes from `offset` on; moves it. At most one MiB, so that a long log does not hold others up.
std::string readFrom(const std::string& path, std::int64_t& offset) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text(1 << 20, '\0');
  const ssize_t got = ::pread(fd, text.data(), text.size(), offset);
  ::close(fd);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  offset += static_cast<std::int64_t>(text.size());
  return text;
}

Task<void> follow(Executor* executor, const HostNode* node, api::ObjectKey pod,
                  std::string container, std::string path, std::int64_t offset,
                  std::shared_ptr<net::Responder> responder, std::shared_ptr<bool> closed) {
  while (!*closed) {
    std::string text = plainLog(readFrom(path, offset));
    if (!text.empty()) {
      responder->write(std::make_shared<const std::string>(std::move(text)));
      continue;
    }
    // The end: the container is gone, or another run of it has begun.
    const auto current = node->logPath(pod, container, false);
    if (!current || *current != path || !node->isRunning(pod, container)) break;
    auto pause = sleepFor(*executor, kFollowPoll);
    co_await pause;
  }
  if (!*closed) responder->end();
}

}  // namespace

std::string plainLog(std::string text) {
  constexpr std::string_view streams[] = {" stdout ", " stderr "};
  const auto tagAt = [&](std::size_t start) {
    // "2026-01-02T03:04:05.123456789+00:00 stdout F text"
    const auto blank = text.find(' ', start);
    if (blank == std::string::npos || blank - start < 20 || text[start + 4] != '-') return std::string::npos;
    for (const auto stream : streams)
      if (text.compare(blank, stream.size(), stream) == 0) return blank + stream.size();
    return std::string::npos;
  };
  if (tagAt(0) == std::string::npos) return text;
  std::string plain;
  for (std::size_t start = 0; start < text.size();) {
    const auto end = std::min(text.find('\n', start), text.size() - 1);
    const auto tag = tagAt(start);
    if (tag == std::string::npos || tag + 2 > end) {
      plain.append(text, start, end + 1 - start);
    } else {
      // P marks a part of a line: the rest follows without a line break.
      const bool partial = text[tag] == 'P';
      plain.append(text, tag + 2, end + (partial ? 0 : 1) - (tag + 2));
    }
    start = end + 1;
  }
  return plain;
}

std::string_view tailOf(std::string_view log, std::int64_t tailLines) {
  if (tailLines < 0) return log;
  std::size_t start = log.size();
  if (start > 0 && log.back() == '\n') --start;
  for (std::int64_t lines = 0; lines < tailLines; ++lines) {
    const auto newline = start == 0 ? std::string_view::npos : log.rfind('\n', start - 1);
    if (newline == std::string_view::npos) return log;
    start = newline;
  }
  return tailLines == 0 ? std::string_view() : log.substr(start + 1);
}

KubeletServer::~KubeletServer() = default;

Result<std::unique_ptr<KubeletServer>> KubeletServer::start(Executor& executor,
                                                            KubeletServerOptions options) {
  auto self = std::unique_ptr<KubeletServer>(new KubeletServer(executor, std::move(options.token)));
  net::ServerOptions server;
  server.listen = options.listen;
  server.tls = std::move(options.tls);
  auto started = net::HttpServer::start(
      executor, std::move(server),
      [raw = self.get()](net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
        raw->handle(std::move(request), std::move(responder));
      });
  if (!started) return fail(std::move(started.error()).within("kubelet endpoints"));
  self->server_ = *std::move(started);
  return self;
}

void KubeletServer::handle(net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
  const auto target = net::parseTarget(request.target);
  if (!target) return responder->respond(400, kText, target.error().message + "\n");
  if (target->path == "/healthz") return responder->respond(200, kText, std::string("ok"));
  const auto authorization = net::headerOf(request.headers, "Authorization");
  const bool byToken = !token_.empty() && net::equalConstantTime(authorization, "Bearer " + token_);
  if (!request.peer && !byToken)
    return responder->respond(401, kText, std::string("Unauthorized\n"));
  if (request.method != "GET")
    return responder->respond(405, kText, std::string("only GET is served here\n"));
  if (!node_) return responder->respond(503, kText, std::string("the node is starting\n"));
  if (target->path == "/pods" || target->path == "/pods/")
    return responder->respond(200, kJson, toJson(node_->podList()));
  if (target->path == "/configz") {
    const json::value config = json::object{{"kubeletconfig",
                                             {{"kind", "KubeletConfiguration"},
                                              {"apiVersion", "kubelet.config.k8s.io/v1beta1"},
                                              {"cgroupDriver", "cgroupfs"},
                                              {"cgroupsPerQOS", true},
                                              {"cpuManagerPolicy", "none"},
                                              {"topologyManagerPolicy", "none"},
                                              {"cpuCFSQuota", true},
                                              {"cpuCFSQuotaPeriod", "100ms"},
                                              {"maxPods", 110},
                                              {"port", port()}}}};
    return responder->respond(200, kJson, toJson(config));
  }
  if (target->path.starts_with("/containerLogs/")) return logs(request, std::move(responder));
  responder->respond(404, kText, std::string("404 page not found\n"));
}

void KubeletServer::logs(const net::ServerRequest& request,
                         std::shared_ptr<net::Responder> responder) {
  const auto target = net::parseTarget(request.target);
  std::vector<std::string> parts;
  std::string_view rest =
      std::string_view(target->path).substr(std::string_view("/containerLogs/").size());
  for (std::size_t slash = 0; (slash = rest.find('/')) != std::string_view::npos;
       rest.remove_prefix(slash + 1))
    parts.emplace_back(rest.substr(0, slash));
  parts.emplace_back(rest);
  if (parts.size() != 3)
    return responder->respond(400, kText,
                              std::string("want /containerLogs/<namespace>/<pod>/<container>\n"));
  const api::ObjectKey pod{parts[0], parts[1]};
  const auto path = node_->logPath(pod, parts[2], isTrue(target->param("previous")));
  if (!path) {
    const int status = path.error().code == ErrorCode::NotFound ? 404 : 400;
    return responder->respond(status, kText, path.error().message + "\n");
  }
  std::int64_t tail = -1;
  if (const auto text = target->param("tailLines"); !text.empty()) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), tail);
    if (error != std::errc{} || end != text.data() + text.size() || tail < 0)
      return responder->respond(400, kText, std::string("tailLines: want a number of lines\n"));
  }
  auto log = readFile(*path);
  if (!log && log.error().code != ErrorCode::NotFound)
    return responder->respond(500, kText, log.error().message + "\n");
  const std::size_t size = log ? log->size() : 0;
  const std::string text = log ? plainLog(*std::move(log)) : std::string();
  const std::string_view wanted = tailOf(text, tail);
  if (!isTrue(target->param("follow"))) return responder->respond(200, kText, std::string(wanted));
  auto closed = std::make_shared<bool>(false);
  responder->onClosed([closed] { *closed = true; });
  responder->begin(200, kText);
  if (!wanted.empty()) responder->write(std::make_shared<const std::string>(wanted));
  streams_.spawn(follow(&executor_, node_, pod, parts[2], *path,
                        static_cast<std::int64_t>(size), std::move(responder),
                        std::move(closed)));
}

}  // namespace koord::cluster
