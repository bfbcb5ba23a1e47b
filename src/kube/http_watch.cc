#include "kube/http_watch.h"

#include <algorithm>
#include <utility>

#include "kube/http_status.h"
#include "net/http_transport.h"

namespace koord::kube {
namespace {

// One event is one object, and objects are limited to a few megabytes.
constexpr std::size_t kMaxEventBytes = 64 << 20;
// How much of an error page is kept.
constexpr std::size_t kMaxErrorBytes = 64 << 10;
// Servers end a watch within the ten minutes that reflectors ask for; one that is silent for longer
// hangs on a connection that is dead without knowing it.
constexpr std::chrono::minutes kIdle{11};

}  // namespace

// What the watch's callbacks work on. They hold it weakly and keep it alive while they run, because
// the sink may destroy the watch in any of its calls.
class HttpWatch::Running : public std::enable_shared_from_this<Running> {
 public:
  Running(net::HttpTransport& transport, Executor& executor, std::string asked, WatchSink sink,
          std::function<void(int status)> onAnswer)
      : transport_(transport),
        executor_(executor),
        asked_(std::move(asked)),
        sink_(std::move(sink)),
        onAnswer_(std::move(onAnswer)) {}

  static Task<void> start(std::shared_ptr<Running> self, Task<Result<net::HttpRequest>> request) {
    auto admitted = co_await request;
    if (admitted) {
      net::HttpRequest http = *std::move(admitted);
      http.timeout = {};
      http.idleTimeout = kIdle;
      http.http2 = false;  // watches share no connection
      self->stream_ = self->transport_.stream(self->executor_, std::move(http), self->streamSink());
      co_return;
    }
    // Later, because the watch may be destroyed by it and this task with it.
    self->executor_.post(
        [weak = self->weak_from_this(), error = std::move(admitted.error())]() mutable {
          if (const auto alive = weak.lock()) alive->close(std::move(error));
        });
  }

  void cancel() {
    active_ = false;
    stream_.reset();
  }

 private:
  net::StreamSink streamSink() {
    const auto weak = weak_from_this();
    return {[weak](net::HttpResponse head) {
              const auto self = weak.lock();
              if (!self) return;
              self->response_ = std::move(head);
              self->onAnswer_(self->response_.status);
            },
            [weak](const std::string& bytes) {
              if (const auto self = weak.lock()) self->onBytes(bytes);
            },
            [weak](Result<> result) {
              if (const auto self = weak.lock()) self->onEnd(std::move(result));
            }};
  }

  bool good() const { return response_.status >= 200 && response_.status < 300; }

  void onBytes(std::string_view bytes) {
    if (!good()) {
      response_.body.append(bytes.substr(0, kMaxErrorBytes - response_.body.size()));
      return;
    }
    while (active_ && !bytes.empty()) {
      const auto end = std::min(bytes.find('\n'), bytes.size());
      const bool whole = end < bytes.size();
      if (!whole || !line_.empty()) line_.append(bytes.substr(0, end));
      if (line_.size() > kMaxEventBytes) {
        stream_.reset();
        return close({ErrorCode::RequestEntityTooLarge, asked_ + ": an event is too long", {}});
      }
      if (whole) {
        const std::string joined = std::exchange(line_, {});
        const auto line = joined.empty() ? bytes.substr(0, end) : std::string_view(joined);
        if (!line.empty()) sink_.onEvent(line);
      }
      bytes.remove_prefix(std::min(end + 1, bytes.size()));
    }
  }

  void onEnd(Result<> result) {
    if (!result && response_.status == 0) onAnswer_(0);
    if (!result) return close(std::move(result.error()));
    if (!good()) return close(errorOf(response_, asked_));
    if (!line_.empty()) {
      return close({ErrorCode::Unavailable, asked_ + ": the watch ended inside an event", {}});
    }
    close({});
  }

  void close(Error error) {
    if (active_) sink_.onClosed(std::move(error));
  }

  net::HttpTransport& transport_;
  Executor& executor_;
  const std::string asked_;
  WatchSink sink_;
  std::function<void(int status)> onAnswer_;
  bool active_ = true;
  std::unique_ptr<net::Stream> stream_;
  net::HttpResponse response_;  // with the body of an error
  std::string line_;            // the beginning of an event, the rest of which is still to come
};

HttpWatch::HttpWatch(net::HttpTransport& transport, Executor& executor,
                     Task<Result<net::HttpRequest>> request, std::string asked, WatchSink sink,
                     std::function<void(int status)> onAnswer)
    : running_(std::make_shared<Running>(transport, executor, std::move(asked), std::move(sink),
                                         std::move(onAnswer))) {
  tasks_.spawn(Running::start(running_, std::move(request)));
}

HttpWatch::~HttpWatch() {
  running_->cancel();
}

}  // namespace koord::kube
