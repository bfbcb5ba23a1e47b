#include <fmt/format.h>

#include <charconv>
#include <deque>

#include "apiserver/server/body.h"
#include "apiserver/server/match.h"
#include "apiserver/server/render.h"
#include "apiserver/server/server.h"
#include "base/ascii.h"

// A watch has two parts: the current state, if requested, then every later change. The state is a
// snapshot: a list of pointers to the matching entries, taken in one turn, which costs nothing but
// the pointers. It is sent when all of it is durable. From the snapshot's version on the stream is
// a subscriber of the table; changes that arrive while the snapshot is sent are queued and follow
// it.
//
// The snapshot is rendered a megabyte at a time and only as far ahead as the client reads. So a
// hundred clients that start together need a hundred lists of pointers and not a hundred copies of
// the cluster. A client that reads too slowly for the changes is disconnected with 410: it reads
// the state again, which is cheaper than a queue.
//
// With selectors an object can start or stop matching without being created or deleted: the client
// then receives ADDED or DELETED, with the last state that it may see. Hence each event is matched
// twice, before and after.
//
// Bookmarks report the version to a client that sees no changes, so that it can resume without
// reading everything again. A watch ends after half an hour to an hour, at random, as in
// kube-apiserver: this rebalances load over servers and limits leaks.

namespace koord::apiserver {
namespace {

constexpr auto kBookmarkEvery = std::chrono::seconds(60);
// The initial objects of a watch may be hundreds of megabytes. They are rendered in pieces of this
// size, and no faster than the watcher reads.
constexpr std::size_t kStride = 1 << 20;
constexpr std::size_t kAhead = 8 << 20;
constexpr std::size_t kMaxQueued = 64 << 20;  // bytes of the changes queued meanwhile
constexpr auto kPause = std::chrono::milliseconds(2);

constexpr std::int64_t kMaxWatchSeconds = std::int64_t{365} * 24 * 60 * 60;  // seconds

// A boolean parameter, parsed as upstream does; nullopt if it is absent.
std::optional<bool> flagIn(const kube::Request& request, std::string_view name) {
  const auto found = request.query.find(std::string(name));
  if (found == request.query.end()) return std::nullopt;
  return found->second != "0" && lowered(found->second) != "false";
}

// One watcher of one table. If the client wants plain objects, the table's shared encoder renders
// its lines, so that all watchers of an event send the same bytes.
class Stream final : public WatchStream, private Watcher {
 public:
  Stream(Server& server, Call call, Target target, Match match, LineSink sink)
      : server_(server),
        call_(std::move(call)),
        target_(std::move(target)),
        match_(std::move(match)),
        sink_(std::move(sink)) {}

  ~Stream() override {
    *alive_ = false;
    if (subscribed_) server_.store().unsubscribe(*target_.table, *this);
    for (const auto timer : {bookmarkTimer_, endTimer_, catchUpTimer_})
      if (timer != 0) server_.executor().cancel(timer);
  }

  void start(std::optional<std::uint64_t> after, bool initialEvents, bool bookmarks,
             std::chrono::seconds timeout) {
    bookmarks_ = bookmarks;
    markInitialEnd_ = !after && initialEvents;
    const auto alive = alive_;
    if (after) {
      follow(*after);
    } else {
      showInitial();
    }
    if (!*alive) return;
    if (bookmarks_) armBookmark();
    if (timeout.count() > 0)
      endTimer_ = server_.executor().runAfter(timeout, [this] {
        endTimer_ = 0;
        finish(Error{ErrorCode::Unknown, "", {}});
      });
  }

 private:
  void showInitial() {
    const auto version = server_.store().version();
    const auto [begin, end] = target_.table->range(match_.inNamespace());
    for (auto it = begin; it != end; ++it)
      if (match_(*it->second)) initial_.push_back(it->second);
    catchingUp_ = true;
    // Changes that are not on disk yet are not sent yet, and reverted changes are never sent.
    server_.store().whenDurable(version, [this, alive = alive_, version](bool durable) {
      if (!*alive) return;
      if (!durable) {
        initial_.clear();
        return showInitial();
      }
      follow(version);  // queues changes until the initial objects are sent
      if (*alive) catchUp(version);
    });
  }

  void follow(std::uint64_t version) {
    if (version < target_.table->oldestVersion() || version > server_.store().version()) {
      expire(version);
      return;
    }
    last_ = version;
    subscribed_ = true;
    server_.store().subscribe(*target_.table, *this, version);
  }

  // An exception in one watcher affects neither other watchers nor the writer.
  template <class Fn>
  void caught(Fn fn) {
    const auto alive = alive_;
    try {
      fn();
    } catch (...) {
      auto failure = thrownFailure("watch " + target_.resource->plural);
      if (*alive) finish(std::move(failure.error));
    }
  }

  void catchUp(std::uint64_t version) {
    caught([this, version] { catchUpOrThrow(version); });
  }

  // Sends the initial objects, then the changes since.
  void catchUpOrThrow(std::uint64_t version) {
    const auto alive = alive_;
    std::size_t stride = 0;
    while (stride < kStride && !(sink_.behind && sink_.behind() > kAhead)) {
      if (nextInitial_ < initial_.size()) {
        const EntryPtr entry = std::exchange(initial_[nextInitial_++], nullptr);
        stride += entry->text.size();
        send("ADDED", entry->text);
      } else if (std::exchange(markInitialEnd_, false)) {
        sendBookmark(version, true);
      } else if (!queued_.empty()) {
        const Event event = std::move(queued_.front());
        queued_.pop_front();
        queuedBytes_ -= sizeOf(event);
        stride += sizeOf(event);
        show(event);
      } else {
        initial_ = {};
        catchingUp_ = false;
        return;
      }
      if (!*alive) return;
    }
    catchUpTimer_ =
        server_.executor().runAfter(stride < kStride ? kPause : Duration::zero(), [this, version] {
          catchUpTimer_ = 0;
          catchUp(version);
        });
  }

  void onEvent(const Event& event) override {
    if (!catchingUp_) return caught([&] { show(event); });
    queued_.push_back(event);
    queuedBytes_ += sizeOf(event);
    // As for watchers that have caught up: a slow one is disconnected and must restart.
    if (queuedBytes_ > kMaxQueued) expire(event.version);
  }
  static std::size_t sizeOf(const Event& event) {
    return event.now ? event.now->text.size() : event.before->text.size();
  }

  void show(const Event& event) {
    last_ = event.version;
    const bool was = event.before && match_(*event.before);
    const bool is = event.now && match_(*event.now);
    if (is) {
      const bool added = event.type == EventType::Added || !was;
      if (call_.format == Format::Object && target_.sameForm()) {
        sink_.onLine(server_.eventLine(event, added));
      } else {
        send(added ? "ADDED" : "MODIFIED", event.now->text);
      }
    } else if (was) {
      // Deleted, or not selected: the last visible state, with the new version.
      send("DELETED", textWithVersion(*event.before, event.version));
    }
  }

  void send(std::string_view type, const std::string& text) {
    sink_.onLine(
        bytesOf(renderEvent(type, renderOne(call_, target_, text, server_.executor().wallNow()))));
  }

  void sendBookmark(std::uint64_t version, bool initialEnd) {
    json::object metadata{{"resourceVersion", std::to_string(version)},
                          {"creationTimestamp", nullptr}};
    if (initialEnd) metadata["annotations"] = {{"k8s.io/initial-events-end", "true"}};
    const bool partial = call_.format == Format::PartialMetadata;
    const json::object object{{"kind", partial ? "PartialObjectMetadata" : target_.resource->kind},
                              {"apiVersion", partial ? "meta.k8s.io/v1" : target_.apiVersion()},
                              {"metadata", std::move(metadata)}};
    if (call_.format == Format::Table) {
      sink_.onLine(bytesOf(renderEvent(
          "BOOKMARK",
          fmt::format("{{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/"
                      "v1\",\"metadata\":{{\"resourceVersion\":\"{}\"}},"
                      "\"columnDefinitions\":[],\"rows\":[{{\"cells\":[],\"object\":{}}}]}}",
                      version, toJson(object)))));
    } else {
      sink_.onLine(bytesOf(renderEvent("BOOKMARK", toJson(object))));
    }
  }

  void armBookmark() {
    bookmarkTimer_ = server_.executor().runAfter(kBookmarkEvery, [this] {
      bookmarkTimer_ = 0;
      const auto alive = alive_;
      const auto version = server_.store().durableVersion();
      if (subscribed_ && !catchingUp_ && version > last_) {
        last_ = version;
        sendBookmark(version, false);
      }
      if (*alive) armBookmark();
    });
  }

  void expire(std::uint64_t version) {
    Failure failure(ErrorCode::Gone, fmt::format("too old resource version: {} ({})", version,
                                                 target_.table->oldestVersion()));
    const auto alive = alive_;
    sink_.onLine(bytesOf(renderEvent("ERROR", statusText(failure, {}))));
    if (*alive) finish(std::move(failure.error));
  }

  void finish(Error error) {
    auto onEnd = std::move(sink_.onEnd);
    if (onEnd) onEnd(std::move(error));
  }

  Server& server_;
  Call call_;
  Target target_;
  Match match_;
  LineSink sink_;
  std::vector<EntryPtr> initial_;
  std::size_t nextInitial_ = 0;
  bool markInitialEnd_ = false;
  bool catchingUp_ = false;
  std::deque<Event> queued_;  // while catching up
  std::size_t queuedBytes_ = 0;
  bool subscribed_ = false;
  bool bookmarks_ = false;
  std::uint64_t last_ = 0;
  TimerId bookmarkTimer_ = 0;
  TimerId endTimer_ = 0;
  TimerId catchUpTimer_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

// The line of an event for watchers that want plain objects. The newest line is cached, because all
// watchers of an event request it one after the other.
const Bytes& Server::eventLine(const Event& event, bool added) {
  auto& slot = added ? addedLine_ : modifiedLine_;
  if (slot.version != event.version) {
    slot.version = event.version;
    slot.line = bytesOf(renderEvent(added ? "ADDED" : "MODIFIED", event.now->text));
  }
  return slot.line;
}

Outcome<std::unique_ptr<WatchStream>> Server::watch(Call call, LineSink sink) {
  ++counters_.watches;
  try {
    return startWatch(std::move(call), std::move(sink));
  } catch (...) {
    return refuse(thrownFailure("watch"));
  }
}

Outcome<std::unique_ptr<WatchStream>> Server::startWatch(Call call, LineSink sink) {
  auto target = findTarget(registry_, store_, call.request);
  if (!target) return std::unexpected(std::move(target.error()));
  if (!call.request.subresource.empty()) return refuse(notAllowed());
  auto match = Match::compile(call.request, *target);
  if (!match) return std::unexpected(std::move(match.error()));
  const auto& request = call.request;
  const auto initial = flagIn(request, "sendInitialEvents");
  const auto rule = queryOf(request, "resourceVersionMatch");
  if (initial && rule != "NotOlderThan")
    return refuse(
        FieldErrors()
            .forbidden("resourceVersionMatch",
                       "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
            .failure(kListOptions, ""));
  if (!initial && !rule.empty())
    return refuse(FieldErrors()
                      .forbidden("resourceVersionMatch",
                                 "resourceVersionMatch is forbidden for watch unless "
                                 "sendInitialEvents is provided")
                      .failure(kListOptions, ""));
  std::optional<std::uint64_t> after;
  if (const auto text = queryOf(request, "resourceVersion");
      !text.empty() && text != "0" && !initial.value_or(false)) {
    std::uint64_t version = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), version);
    if (ec != std::errc{} || end != text.data() + text.size())
      return refuse(ErrorCode::BadRequest,
                    fmt::format("resourceVersion: Invalid value: \"{}\": must be a number", text));
    after = version;
  } else if (initial && !*initial) {
    after = store_.version();  // only later changes
  }
  std::chrono::seconds timeout{1800 + static_cast<std::int64_t>(random_.below(1800))};
  if (const auto text = queryOf(request, "timeoutSeconds"); !text.empty()) {
    std::int64_t seconds = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (ec != std::errc{} || end != text.data() + text.size())
      return refuse(ErrorCode::BadRequest,
                    fmt::format("timeoutSeconds: Invalid value: \"{}\": must be a number", text));
    if (seconds > 0) timeout = std::chrono::seconds(std::min(seconds, kMaxWatchSeconds));
  }
  const bool bookmarks = flagIn(request, "allowWatchBookmarks").value_or(false);
  auto stream = std::make_unique<Stream>(*this, std::move(call), *std::move(target),
                                         *std::move(match), std::move(sink));
  auto* started = stream.get();
  started->start(after, initial.value_or(false), bookmarks, timeout);
  return stream;
}

}  // namespace koord::apiserver
