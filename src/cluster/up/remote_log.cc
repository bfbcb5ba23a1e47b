#include "cluster/up/remote_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "net/url.h"

namespace koord::cluster {

namespace {
constexpr std::size_t kMostQueued = 8 << 20;
constexpr std::size_t kMostError = 4 << 10;
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
                               if (queued_ > kMostQueued) closed_ = true;
                               wake();
                             },
                         .onClosed =
                             [this](Result<> result) {
                               closed_ = true;
                               if (!result) failure_ = std::move(result.error());
                               wake();
                             }});
}

void RemoteLog::wake() {
  if (closed_ && queued_ > kMostQueued) stream_.reset();
  if (waiter_) std::exchange(waiter_, std::nullopt)->complete(true);
}

Task<void> RemoteLog::arrival() {
  auto [future, completer] = Future<bool>::make(executor_);
  waiter_ = std::move(completer);
  auto waiting = std::move(future);
  co_await waiting;
}

Task<Result<>> RemoteLog::opened() {
  while (!head_ && !closed_) {
    auto waiting = arrival();
    co_await waiting;
  }
  if (!head_)
    co_return fail(ErrorCode::Unavailable,
                   fmt::format("{}: {}", url_, failure_ ? failure_->message : "no answer"));
  if (head_->status == 200) co_return Result<>{};
  std::string text;
  while (text.size() < kMostError) {
    auto reading = next();
    auto piece = co_await reading;
    if (!piece) break;
    text += *piece;
  }
  while (text.ends_with('\n')) text.pop_back();
  co_return fail(head_->status == 404 ? ErrorCode::NotFound : ErrorCode::BadRequest,
                 text.empty() ? fmt::format("{}: status {}", url_, head_->status)
                              : text.substr(0, kMostError));
}

Task<std::optional<std::string>> RemoteLog::next() {
  while (pieces_.empty() && !closed_) {
    auto waiting = arrival();
    co_await waiting;
  }
  if (pieces_.empty()) co_return std::nullopt;
  std::string piece = std::move(pieces_.front());
  pieces_.pop_front();
  queued_ -= piece.size();
  co_return piece;
}

}  // namespace koord::cluster
