#include "net/http_client.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "net/client/http1_servers.h"
#include "net/client/ready_sockets.h"
#include "net/client/transfer.h"

// Threads: each I/O thread owns a libcurl multi handle and everything in it; no other thread
// touches them. A request is passed through a queue and curl_multi_wakeup; its answer is posted to
// the caller's executor. The easy handle of a finished request is reset and reused, because making
// one costs more than many requests.
//
// A stream (a watch, a log) has a Pipe between its two threads: the bytes that the executor has not
// taken, and their number. Beyond the window libcurl pauses the transfer, which slows the server
// down through TCP. The executor resumes it when half of the bytes are taken. So a slow reader
// costs the window's memory and never that of the whole answer.
//
// Cancellation races with delivery. The executor may end a stream at any moment, also from inside a
// callback; bytes that the I/O thread has posted find active_ false and are dropped. Destroying the
// client stops the threads and completes every unanswered request with Cancelled.

namespace koord::net {
namespace {

constexpr std::size_t kIdleHandles = 64;
constexpr std::chrono::minutes kMaxWait{1};
// Idle connections to keep. By default libcurl keeps four for each running request, and closes
// connections whenever a burst ends.
constexpr long kIdleConnections = 256;
// Memory for a body of announced length is reserved at once, up to this many bytes.
constexpr curl_off_t kMaxReserved = 64 << 20;

class Fetch final : public Transfer {
 public:
  Fetch(HttpRequest request, Completer<Result<HttpResponse>> completer)
      : Transfer(std::move(request)), completer_(std::move(completer)) {}

  void abandon() override {
    completer_.complete(fail(ErrorCode::Cancelled, "the HTTP client was closed"));
  }

 protected:
  void onHead(HttpResponse head) override {
    response_ = std::move(head);
    curl_off_t length = -1;
    curl_easy_getinfo(easy(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    if (length > 0)
      response_.body.reserve(static_cast<std::size_t>(std::min(length, kMaxReserved)));
  }
  Take onBody(std::string_view bytes) override {
    if (response_.body.size() + bytes.size() > request().maxResponseBytes) {
      refuseWith({ErrorCode::RequestEntityTooLarge,
                  fmt::format("{} {}: the response is larger than {} bytes", request().method,
                              request().url, request().maxResponseBytes),
                  {}});
      return Take::Refuse;
    }
    response_.body.append(bytes);
    return Take::Taken;
  }
  void onDone(Result<> result) override {
    if (result) {
      completer_.complete(std::move(response_));
    } else {
      completer_.complete(fail(std::move(result.error())));
    }
  }

 private:
  Completer<Result<HttpResponse>> completer_;
  HttpResponse response_;
};

// Between the I/O thread, which puts bytes in, and the executor, where the sink takes them out.
// Bytes that arrive while the executor is busy come to the sink as one chunk.
class Pipe : public std::enable_shared_from_this<Pipe> {
 public:
  Pipe(Executor& executor, StreamSink sink, std::size_t window)
      : executor_(executor), sink_(std::move(sink)), window_(window) {}

  // Set before the transfer starts. Called on the executor when a paused transfer may continue.
  std::move_only_function<void()> resume;

  // I/O thread.
  void head(HttpResponse head) {
    deliver([head = std::move(head)](Pipe& pipe) mutable {
      if (pipe.sink_.onHead) pipe.sink_.onHead(std::move(head));
    });
  }
  bool offer(std::string_view bytes) {
    {
      std::lock_guard lock(mutex_);
      if (unconsumed_ >= window_) {
        paused_ = true;
        return false;
      }
      unconsumed_ += bytes.size();
      const bool onItsWay = !pending_.empty();
      pending_.append(bytes);
      if (onItsWay) return true;
    }
    deliver([](Pipe& pipe) { pipe.chunk(); });
    return true;
  }
  void closed(Result<> result) {
    deliver([result = std::move(result)](Pipe& pipe) mutable {
      if (pipe.sink_.onClosed) pipe.sink_.onClosed(std::move(result));
    });
  }

  // Executor only. Ends the delivery.
  void cancel() {
    active_ = false;
    if (!delivering_) sink_ = {};
  }
  // Any thread. Called when the client is destroyed.
  void deactivate() { active_ = false; }

 private:
  template <class Fn>
  void deliver(Fn fn) {
    executor_.post([self = shared_from_this(), fn = std::move(fn)]() mutable {
      if (!self->active_) return;
      self->delivering_ = true;
      fn(*self);
      self->delivering_ = false;
      if (!self->active_) self->sink_ = {};  // cancelled by the callback itself
    });
  }

  void chunk() {
    std::string bytes;
    {
      std::lock_guard lock(mutex_);
      bytes.swap(pending_);
    }
    const std::size_t size = bytes.size();
    if (sink_.onChunk) sink_.onChunk(std::move(bytes));
    bool wake = false;
    {
      std::lock_guard lock(mutex_);
      unconsumed_ -= size;
      if (unconsumed_ <= window_ / 2) wake = std::exchange(paused_, false);
    }
    if (wake && active_) resume();
  }

  Executor& executor_;
  StreamSink sink_;          // executor only
  bool delivering_ = false;  // executor only
  std::atomic<bool> active_ = true;
  const std::size_t window_;
  std::mutex mutex_;
  std::string pending_;         // guarded by mutex_: not yet delivered to the sink
  std::size_t unconsumed_ = 0;  // guarded by mutex_: pending_ and the chunk that the sink handles
  bool paused_ = false;         // guarded by mutex_
};

class Streaming final : public Transfer {
 public:
  Streaming(HttpRequest request, std::shared_ptr<Pipe> pipe)
      : Transfer(std::move(request)), pipe_(std::move(pipe)) {}

  void abandon() override { pipe_->deactivate(); }

 protected:
  void onHead(HttpResponse head) override { pipe_->head(std::move(head)); }
  Take onBody(std::string_view bytes) override {
    return pipe_->offer(bytes) ? Take::Taken : Take::Pause;
  }
  void onDone(Result<> result) override { pipe_->closed(std::move(result)); }

 private:
  std::shared_ptr<Pipe> pipe_;
};

}  // namespace

// An I/O thread, its connections and its transfers. Shared with objects that may outlive the
// client; after stop() it does nothing.
class HttpClient::Io {
 public:
  using Id = std::uint64_t;

  // separate: transfers do not share connections. With HTTP/2 they do; libcurl then buffers data
  // that no socket announces, and finds it only by looking at all transfers.
  Io(Options options, std::shared_ptr<Http1Servers> http1, bool separate)
      : options_(std::move(options)), http1_(std::move(http1)) {
    // Once per process, before the first thread of libcurl; later calls only count.
    curl_global_init(CURL_GLOBAL_DEFAULT);
    multi_ = curl_multi_init();
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kIdleConnections);
    if (separate) sockets_.emplace(multi_);
  }
  ~Io() {
    stop();
    sockets_.reset();
    curl_multi_cleanup(multi_);
  }
  Io(const Io&) = delete;
  Io& operator=(const Io&) = delete;

  const Options& options() const { return options_; }

  Id newId() { return ++lastId_; }
  bool busy() const { return unfinished_ > 0; }
  void start(Id id, std::unique_ptr<Transfer> transfer) {
    ++unfinished_;
    post([this, id, transfer = std::move(transfer)]() mutable { begin(id, std::move(transfer)); });
  }
  void cancel(Id id) {
    post([this, id] {
      const auto it = transfers_.find(id);
      if (it == transfers_.end()) return;
      --unfinished_;
      remove(it);
    });
  }
  void resume(Id id) {
    post([this, id] {
      if (const auto it = transfers_.find(id); it != transfers_.end()) {
        curl_easy_pause(it->second.easy.get(), CURLPAUSE_CONT);
      }
    });
  }

  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    wake();
    if (thread_.joinable()) thread_.join();
  }

 private:
  struct Running {
    CurlEasy easy;
    std::unique_ptr<Transfer> transfer;
  };
  using Transfers = std::unordered_map<Id, Running>;

  void post(Callback fn) {
    {
      std::lock_guard lock(mutex_);
      // A transfer posted after the stop is destroyed here without completion: its caller has
      // destroyed the client that it uses.
      if (stopped_) return;
      posted_.push_back(std::move(fn));
      if (posted_.size() > 1) return;  // the thread has already been woken
      if (!thread_.joinable()) {
        thread_ = std::thread([this] { run(); });
        pthread_setname_np(thread_.native_handle(), "http-client");
      }
    }
    wake();
  }
  void wake() {
    if (sockets_) {
      sockets_->wake();
    } else {
      curl_multi_wakeup(multi_);
    }
  }

  // The rest on the I/O thread.
  void run() {
    // libcurl writes to sockets that the other side may have closed, which raises SIGPIPE.
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);

    std::vector<Callback> batch;
    for (;;) {
      {
        std::lock_guard lock(mutex_);
        if (stopped_) break;
        batch.swap(posted_);
      }
      for (auto& fn : batch) fn();
      batch.clear();
      int running = 0;
      if (sockets_) {
        sockets_->runTimeouts();
      } else {
        curl_multi_perform(multi_, &running);
      }
      reap();
      const auto longest = endIdle();
      if (sockets_) {
        sockets_->wait(longest);
      } else {
        const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(longest).count();
        curl_multi_poll(multi_, nullptr, 0, static_cast<int>(milliseconds), nullptr);
      }
    }
    abandonAll();
  }

  void begin(Id id, std::unique_ptr<Transfer> transfer) {
    Running running{takeHandle(), std::move(transfer)};
    if (auto ready = running.transfer->prepare(running.easy.get(), options_.userAgent); !ready) {
      --unfinished_;
      running.transfer->failed(std::move(ready.error()));
      return;
    }
    CURL* const easy = running.easy.get();
    ids_[easy] = id;
    transfers_.emplace(id, std::move(running));
    curl_multi_add_handle(multi_, easy);
    if (const auto until = Transfer::of(easy).idleUntil())
      checkIdleAt_ = std::min(checkIdleAt_, *until);
  }

  // Ends transfers that have received nothing for too long. Returns how long the thread may wait.
  Transfer::Clock::duration endIdle() {
    const auto now = Transfer::Clock::now();
    if (now >= checkIdleAt_) {
      checkIdleAt_ = now + kMaxWait;
      for (auto it = transfers_.begin(); it != transfers_.end();) {
        const auto current = it++;
        const auto until = current->second.transfer->idleUntil();
        if (until && *until <= now) {
          end(current, CURLE_OPERATION_TIMEDOUT);
        } else if (until) {
          checkIdleAt_ = std::min(checkIdleAt_, *until);
        }
      }
    }
    return checkIdleAt_ - now;
  }

  void reap() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const auto it = transfers_.find(ids_.at(message->easy_handle));
      http1_->learn(it->second.transfer->request(), message->easy_handle, message->data.result);
      end(it, message->data.result);
    }
  }

  void end(Transfers::iterator it, CURLcode result) {
    --unfinished_;  // first, because the caller may make its next request at once
    it->second.transfer->finish(result);
    remove(it);
  }

  void remove(Transfers::iterator it) {
    CurlEasy easy = std::move(it->second.easy);
    curl_multi_remove_handle(multi_, easy.get());
    ids_.erase(easy.get());
    if (idle_.size() < kIdleHandles) {
      curl_easy_reset(easy.get());
      idle_.push_back(std::move(easy));
    }
    transfers_.erase(it);
  }

  CurlEasy takeHandle() {
    if (idle_.empty()) return CurlEasy(curl_easy_init());
    CurlEasy easy = std::move(idle_.back());
    idle_.pop_back();
    return easy;
  }

  void abandonAll() {
    // Transfers that were posted but not started are started, so that all end the same way.
    std::vector<Callback> batch;
    {
      std::lock_guard lock(mutex_);
      batch.swap(posted_);
    }
    for (auto& fn : batch) fn();
    for (auto& [id, running] : transfers_) {
      running.transfer->abandon();
      curl_multi_remove_handle(multi_, running.easy.get());
    }
    transfers_.clear();
    idle_.clear();
  }

  const Options options_;
  const std::shared_ptr<Http1Servers> http1_;
  CURLM* multi_ = nullptr;
  std::optional<ReadySockets> sockets_;
  std::atomic<Id> lastId_ = 0;
  std::atomic<std::size_t> unfinished_ = 0;  // transfers that were started and have not ended

  std::mutex mutex_;
  std::vector<Callback> posted_;  // guarded by mutex_
  bool stopped_ = false;          // guarded by mutex_
  std::thread thread_;            // begins with the first post

  Transfers transfers_;
  std::unordered_map<CURL*, Id> ids_;
  Transfer::Clock::time_point checkIdleAt_;  // not later than the first end of an idle transfer
  std::vector<CurlEasy> idle_;               // reset, ready for the next transfer
};

namespace {

// Cancels a fetch whose task is destroyed before the answer arrives.
template <class Io>
class CancelGuard {
 public:
  CancelGuard(std::shared_ptr<Io> io, std::uint64_t id) : io_(std::move(io)), id_(id) {}
  ~CancelGuard() {
    if (id_ != 0) io_->cancel(id_);
  }
  CancelGuard(const CancelGuard&) = delete;
  CancelGuard& operator=(const CancelGuard&) = delete;
  void release() { id_ = 0; }

 private:
  std::shared_ptr<Io> io_;
  std::uint64_t id_;
};

template <class Io>
class ClientStream final : public Stream {
 public:
  ClientStream(std::shared_ptr<Io> io, std::uint64_t id, std::shared_ptr<Pipe> pipe)
      : cancel_(std::move(io), id), pipe_(std::move(pipe)) {}
  ~ClientStream() override { pipe_->cancel(); }

 private:
  CancelGuard<Io> cancel_;
  std::shared_ptr<Pipe> pipe_;
};

}  // namespace

HttpClient::HttpClient() : HttpClient(Options{}) {}

HttpClient::HttpClient(Options options)
    : http1_(std::make_shared<Http1Servers>()),
      shared_(std::make_shared<Io>(options, http1_, false)),
      separate_(std::make_shared<Io>(std::move(options), http1_, true)) {}

HttpClient::~HttpClient() {
  shared_->stop();
  separate_->stop();
}

const std::shared_ptr<HttpClient::Io>& HttpClient::ioFor(HttpRequest& request) const {
  // A single request costs the same in both, and finds its connection there.
  if (request.http2 && shared_->busy() && http1_->contains(request)) request.http2 = false;
  return request.http2 ? shared_ : separate_;
}

Task<Result<HttpResponse>> HttpClient::fetch(Executor& executor, HttpRequest request) {
  auto ends = Future<Result<HttpResponse>>::make(executor);
  request.idleTimeout = {};
  const auto io = ioFor(request);
  const auto id = io->newId();
  io->start(id, std::make_unique<Fetch>(std::move(request), ends.second));
  CancelGuard<Io> guard(io, id);
  Result<HttpResponse> reply = co_await ends.first;
  guard.release();
  co_return std::move(reply);
}

std::unique_ptr<Stream> HttpClient::stream(Executor& executor, HttpRequest request,
                                           StreamSink sink) {
  const auto io = ioFor(request);
  const auto pipe = std::make_shared<Pipe>(executor, std::move(sink), io->options().streamWindow);
  const auto id = io->newId();
  pipe->resume = [weak = std::weak_ptr(io), id] {
    if (const auto alive = weak.lock()) alive->resume(id);
  };
  io->start(id, std::make_unique<Streaming>(std::move(request), pipe));
  return std::make_unique<ClientStream<Io>>(io, id, pipe);
}

}  // namespace koord::net
