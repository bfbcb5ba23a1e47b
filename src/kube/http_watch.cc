#include "kube/http_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "api/protobuf/envelope.h"
#include "base/time.h"
#include "kube/http_status.h"
#include "net/http_transport.h"

namespace koord::kube {
namespace {

// One event is one object, and objects are limited to a few megabytes.
constexpr std::size_t kMaxEventBytes = 64 << 20;
// How much of an error page is kept.
constexpr std::size_t kMaxErrorBytes = 64 << 10;
// Servers end a watch within the ten minutes that reflectors ask for. A watch that is silent for
// longer hangs on a dead connection.
constexpr std::chrono::minutes kIdle{11};
// A server begins its answer at once, even if it has no event. A watch without an answer hangs: its
// client would not see changes until kIdle.
constexpr std::chrono::seconds kHeadWithin{60};

}  // namespace

// Cuts what comes into events: lines, or in protobuf frames (envelope.h).
class EventSplitter {
 public:
  void expectFrames() { frames_ = true; }
  // Takes one event off the bytes, which have come after those that were given before; nullopt when
  // it goes on in the next ones. The event lives until the next call. Blank lines are events, too.
  std::optional<std::string_view> take(std::string_view& bytes) {
    if (whole_) begun_ = std::string();
    whole_ = false;
    return frames_ ? takeFrame(bytes) : takeLine(bytes);
  }
  bool inside() const { return !whole_ && !begun_.empty(); }
  bool tooLong() const { return tooLong_ || (!whole_ && begun_.size() > kMaxEventBytes); }

 private:
  std::optional<std::string_view> takeLine(std::string_view& bytes) {
    const auto end = std::min(bytes.find('\n'), bytes.size());
    const auto line = bytes.substr(0, end);
    whole_ = end < bytes.size();
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    if (whole_ && begun_.empty()) return line;
    begun_.append(line);
    return whole_ ? std::optional<std::string_view>(begun_) : std::nullopt;
  }

  std::optional<std::string_view> takeFrame(std::string_view& bytes) {
    std::size_t size = api::kFrameHead;
    if (begun_.empty() && bytes.size() >= size) {
      size += api::eventLength(bytes);
      whole_ = bytes.size() >= size;
      if (whole_) {
        const auto event = bytes.substr(api::kFrameHead, size - api::kFrameHead);
        bytes.remove_prefix(size);
        return event;
      }
    }
    fill(bytes, api::kFrameHead);
    if (begun_.size() < api::kFrameHead) return std::nullopt;
    size = api::kFrameHead + api::eventLength(begun_);
    tooLong_ = size > kMaxEventBytes;
    if (tooLong_) return std::nullopt;
    fill(bytes, size);
    whole_ = begun_.size() == size;
    if (!whole_) return std::nullopt;
    return std::string_view(begun_).substr(api::kFrameHead);
  }
  void fill(std::string_view& bytes, std::size_t size) {
    if (begun_.size() >= size) return;
    const auto part = bytes.substr(0, size - begun_.size());
    begun_.append(part);
    bytes.remove_prefix(part.size());
  }

  bool frames_ = false;
  bool whole_ = false;  // what begun_ holds has been given out
  bool tooLong_ = false;
  std::string begun_;
};

// What the watch's callbacks work on. They hold it weakly and keep it alive while they run, because
// the sink may destroy the watch in any of its calls.
class HttpWatch::Running : public std::enable_shared_from_this<Running> {
 public:
  Running(net::HttpTransport& transport, Executor& executor, std::string requestText,
          WatchSink sink, std::function<void(int status)> onAnswer)
      : transport_(transport),
        executor_(executor),
        requestText_(std::move(requestText)),
        sink_(std::move(sink)),
        onAnswer_(std::move(onAnswer)) {}

  static Task<void> start(std::shared_ptr<Running> self, Task<Result<net::HttpRequest>> request) {
    auto admitted = co_await request;
    if (admitted) {
      net::HttpRequest http = *std::move(admitted);
      http.timeout = {};
      http.idleTimeout = kIdle;
      http.http2 = false;  // watches share no connection
      self->headTimer_ = self->executor_.runAfter(kHeadWithin, [weak = self->weak_from_this()] {
        if (const auto alive = weak.lock()) alive->giveUp();
      });
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
    executor_.cancel(headTimer_);
    stream_.reset();
  }

 private:
  net::StreamSink streamSink() {
    const auto weak = weak_from_this();
    return {[weak](net::HttpResponse head) {
              const auto self = weak.lock();
              if (!self) return;
              self->executor_.cancel(self->headTimer_);
              self->response_ = std::move(head);
              if (net::headerOf(self->response_.headers, "Content-Type")
                      .starts_with(api::kProtobufType))
                self->events_.expectFrames();
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
      const auto event = events_.take(bytes);
      if (events_.tooLong()) {
        stream_.reset();
        return close(
            {ErrorCode::RequestEntityTooLarge, requestText_ + ": an event is too long", {}});
      }
      if (event && !event->empty()) sink_.onEvent(*event);
    }
  }

  void giveUp() {
    stream_.reset();
    onEnd(fail(ErrorCode::Timeout,
               fmt::format("{}: no answer within {}", requestText_, formatDuration(kHeadWithin))));
  }

  void onEnd(Result<> result) {
    executor_.cancel(headTimer_);
    if (!result && response_.status == 0) onAnswer_(0);
    if (!result) return close(std::move(result.error()));
    if (!good()) return close(errorOf(response_, requestText_));
    if (events_.inside()) {
      return close(
          {ErrorCode::Unavailable, requestText_ + ": the watch ended inside an event", {}});
    }
    close({});
  }

  void close(Error error) {
    if (active_) sink_.onClosed(std::move(error));
  }

  net::HttpTransport& transport_;
  Executor& executor_;
  const std::string requestText_;
  WatchSink sink_;
  std::function<void(int status)> onAnswer_;
  bool active_ = true;
  TimerId headTimer_ = 0;  // until the answer begins
  std::unique_ptr<net::Stream> stream_;
  net::HttpResponse response_;  // with the body of an error
  EventSplitter events_;
};

HttpWatch::HttpWatch(net::HttpTransport& transport, Executor& executor,
                     Task<Result<net::HttpRequest>> request, std::string requestText,
                     WatchSink sink, std::function<void(int status)> onAnswer)
    : running_(std::make_shared<Running>(transport, executor, std::move(requestText),
                                         std::move(sink), std::move(onAnswer))) {
  tasks_.spawn(Running::start(running_, std::move(request)));
}

HttpWatch::~HttpWatch() {
  running_->cancel();
}

}  // namespace koord::kube
