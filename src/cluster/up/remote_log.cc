#include "cluster/up/remote_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "net/url.h"

namespace koord::cluster {

namespace {
constexpr std::size_t kMostQueued = 8 << 20;
constexpr std::size_t kMostError = 4 << 10;
constexpr const char* kCut = "\nkoordctl: the log ends here, since its reader is too slow\n";
constexpr Duration kHeadLimit = std::chrono::seconds(30);
// A reader is asked this often whether its client is still there.
constexpr Duration kPatience = std::chrono::seconds(1);
}  // namespace

Result<std::string> remoteLogUrl(const api::Node& node, const api::ObjectKey& pod,
                                 const std::string& container, const api::StringMap& query) {
  const auto& endpoint = node.status.daemonEndpoints.kubeletEndpoint;
  const auto address =
      std::ranges::find(node.status.addresses, "InternalIP", &api::NodeAddress::type);
  if (!endpoint || endpoint->Port <= 0 || address == node.status.addresses.end())
    return fail(ErrorCode::BadRequest,
                fmt::format("pod {} runs on a simulated node, so it has no log", pod.name));
  const auto& ip = address->address;
  net::QueryParams params;
  for (const auto& [key, value] : query)
    if (key != "container") params.emplace_back(key, value);
  return fmt::format("https://{}:{}/containerLogs/{}/{}/{}{}{}",
                     ip.find(':') == std::string::npos ? ip : "[" + ip + "]", endpoint->Port,
                     net::percentEncode(pod.namespace_), net::percentEncode(pod.name),
                     net::percentEncode(container), params.empty() ? "" : "?",
                     net::encodeQuery(params));
}

RemoteLog::RemoteLog(net::HttpTransport& http, Executor& executor, std::string url,
                     std::shared_ptr<const net::TlsConfig> tls)
    : executor_(executor), url_(std::move(url)) {
  net::HttpRequest request;
  request.url = url_;
  request.tls = std::move(tls);
  request.timeout = {};  // a log that is followed has no end
  request.http2 = false;
  stream_ = http.stream(executor, std::move(request),
                        {.onHead =
                             [this](net::HttpResponse head) {
                               head_ = std::move(head);
                               wake();
                             },
                         .onChunk =
                             [this](std::string piece) {
                               queued_ += piece.size();
                               pieces_.push_back(std::move(piece));
                               // The node must not fill the memory of the API server.
                               if (queued_ > kMostQueued) {
                                 pieces_.emplace_back(kCut);
                                 end();
                               }
                               wake();
                             },
                         .onClosed =
                             [this](Result<> result) {
                               closed_ = true;
                               if (!result) failure_ = std::move(result.error());
                               wake();
                             }});
}

// Also inside of a callback of the stream, which its owner may destroy there.
void RemoteLog::end() {
  closed_ = true;
  stream_.reset();
}

void RemoteLog::wake() {
  if (waiter_) std::exchange(waiter_, std::nullopt)->complete(true);
}

Task<void> RemoteLog::arrival(Duration limit) {
  auto ends = Future<bool>::make(executor_);
  const Completer<bool> completer = ends.second;
  waiter_ = completer;
  const TimerId timer = executor_.runAfter(limit, [completer] { completer.complete(false); });
  auto waiting = std::move(ends.first);
  co_await waiting;
  executor_.cancel(timer);
}

Task<Result<>> RemoteLog::opened() {
  const SteadyTime limit = executor_.steadyNow() + kHeadLimit;
  while (!head_ && !closed_ && executor_.steadyNow() < limit) {
    auto waiting = arrival(limit - executor_.steadyNow());
    co_await waiting;
  }
  if (!head_ && !closed_) {
    end();
    co_return fail(ErrorCode::Unavailable,
                   fmt::format("{}: no answer within {} s", url_,
                               std::chrono::ceil<std::chrono::seconds>(kHeadLimit).count()));
  }
  if (!head_)
    co_return fail(ErrorCode::Unavailable,
                   fmt::format("{}: {}", url_, failure_ ? failure_->message : "no answer"));
  if (head_->status == 200) co_return Result<>{};
  std::string text;
  while (text.size() < kMostError) {
    auto reading = next();
    auto piece = co_await reading;
    if (!piece || executor_.steadyNow() >= limit) break;
    text += *piece;
  }
  while (text.ends_with('\n')) text.pop_back();
  co_return fail(head_->status == 404 ? ErrorCode::NotFound : ErrorCode::BadRequest,
                 text.empty() ? fmt::format("{}: status {}", url_, head_->status)
                              : text.substr(0, kMostError));
}

Task<std::optional<std::string>> RemoteLog::next() {
  if (pieces_.empty() && !closed_) {
    auto waiting = arrival(kPatience);
    co_await waiting;
  }
  if (pieces_.empty() && closed_) co_return std::nullopt;
  if (pieces_.empty()) co_return std::string();
  std::string piece = std::move(pieces_.front());
  pieces_.pop_front();
  queued_ -= std::min(queued_, piece.size());
  co_return piece;
}

}  // namespace koord::cluster
