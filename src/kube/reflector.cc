#include "kube/reflector.h"

#include <algorithm>

#include "base/log.h"

// Two states: the whole state has to be read, or a watch goes on from resourceVersion_. Reading is
// a watch that begins with the state (sendInitialEvents) or, where the server does not know that, a
// list followed by a watch.
//
//   read   -> complete: watch. Cut off or refused: back off, read again; a server that refuses the
//             streaming list, is silent on it or ends it in good order three times is listed from
//             then on.
//          -> not there, or forbidden before anything was seen, and optional: nothing, complete;
//             read again after a minute. Forbidden later: what is known stays. A server that starts
//             refuses every client until it has read its roles, and an object that was there must
//             not go for that.
//   watch  -> ended by the server after its time: watch again from where we are, at once.
//          -> 410 Gone: the version has left the server's history: read, of the newest version.
//          -> connection lost: back off, then watch again from where we are. The server's history
//             covers minutes, so an outage does not cost a list; reading after every outage is how
//             fleets take a server down that has just come back.
//          -> refused four times in a row: read, it may be the version.
//
// Versions: a first list takes what the server has in its cache ("0"), a later one nothing older
// than what was seen, so that time never runs backwards for a sink, also when it talks to another
// server. resourceVersion_ moves with every event and bookmark once the state is complete.
//
// Backoff is 200 ms doubling to 30 s, each up to twice as long at random. An event resets it once
// the state is complete, so a stream that is always cut in its middle is not requested five times a
// second. Watches ask for an end after five to ten minutes, at random, so that clients spread over
// servers again after a restart. Rules: the reflector of client-go.

namespace koord::kube {

using namespace std::chrono_literals;

namespace {

// A server that streams a list is not silent for longer than this before the list is complete. A
// server that does not support streaming lists may be silent.
constexpr Duration kInitialEventsGap = 10s;
constexpr Duration kAbsentPeriod = 1min;
// Incomplete streams in a row until lists are asked for instead.
constexpr int kStreamAttempts = 3;

}  // namespace

class Reflector::Loop {
 public:
  Loop(Api& api, Executor& executor, const api::ResourceType& type, WatchScope scope,
       ReflectorSink& sink, Random random)
      : api_(api),
        executor_(executor),
        type_(type),
        scope_(std::move(scope)),
        sink_(sink),
        random_(random) {}
  ~Loop() { executor_.cancel(gapTimer_); }

  void start() { tasks_.spawn(run()); }
  const std::string& resourceVersion() const { return resourceVersion_; }

 private:
  // What to do after a watch has ended: continue from the last version, or read the state again.
  enum class Next { Watch, State };

  Task<void> run() {
    bool complete = false;
    for (;;) {
      if (!complete && !streaming_) {
        auto listing = list();
        complete = co_await listing;
        if (!complete) {
          auto pause = backOff();
          co_await pause;
          continue;
        }
        failures_ = 0;
      }
      auto watching = watchOnce(!complete);
      const Next next = co_await watching;
      complete = next == Next::Watch;
    }
  }

  Request scoped(Verb verb) const {
    Request request = makeRequest(verb, type_, {scope_.namespace_, {}});
    request.protobuf = sink_.readsProtobuf();
    if (!scope_.labelSelector.empty()) request.query["labelSelector"] = scope_.labelSelector;
    if (!scope_.fieldSelector.empty()) request.query["fieldSelector"] = scope_.fieldSelector;
    return request;
  }

  // Lists everything. The first time any version will do, later none that is older than what was
  // seen: the server may answer that from its cache, as a whole. When that version has expired, the
  // newest is asked for, in pages; and when those expire before the last, as a whole.
  Task<bool> list() {
    Request request = scoped(Verb::List);
    if (!expired_) {
      request.query["resourceVersion"] = resourceVersion_.empty() ? "0" : resourceVersion_;
    } else if (!pagesExpired_) {
      request.query["limit"] = "500";
    }
    sink_.beginReplace();
    for (;;) {
      auto call = api_.call(request);
      auto reply = co_await call;
      auto page = reply ? openList(*reply, [this](const Received& item) { sink_.upsert(item); })
                        : fail(std::move(reply.error()));
      if (!page && isAbsent(page.error())) {
        auto absence = absent(page.error());
        co_await absence;
        co_return false;
      }
      if (!page) {
        failed("list", page.error());
        if (page.error().code == ErrorCode::Gone) {
          pagesExpired_ = request.query.contains("continue");
          expired_ = true;
        }
        co_return false;
      }
      if (page->next.empty()) {
        resourceVersion_ = std::move(page->resourceVersion);
        expired_ = pagesExpired_ = false;
        stateRead_ = true;
        sink_.endReplace();
        co_return true;
      }
      request.query.erase("resourceVersion");
      request.query["continue"] = std::move(page->next);
    }
  }

  // With `initial`, the whole state comes first, and a bookmark says where it ends.
  Task<Next> watchOnce(bool initial) {
    Request request = scoped(Verb::Watch);
    request.query["allowWatchBookmarks"] = "true";
    // Spread over five to ten minutes, so that watches do not all end together.
    request.query["timeoutSeconds"] = std::to_string(300 + random_.below(300));
    if (initial) {
      request.query["sendInitialEvents"] = "true";
      request.query["resourceVersionMatch"] = "NotOlderThan";
      sink_.beginReplace();
    }
    if (!(initial && expired_) && !resourceVersion_.empty())
      request.query["resourceVersion"] = resourceVersion_;
    expired_ = false;
    initial_ = initial;
    auto [closed, completer] = Future<Error>::make(executor_);
    const SteadyTime began = executor_.steadyNow();
    if (initial) {
      lastEvent_ = began;
      watchGap([completer = completer] {
        completer.complete({ErrorCode::Timeout, std::string(kSilent), {}});
      });
    }
    auto watch = api_.watch(
        request, {[this](std::string_view event) { onEvent(event); },
                  [completer = completer](Error error) { completer.complete(std::move(error)); }});
    const Error error = co_await closed;
    watch.reset();
    executor_.cancel(std::exchange(gapTimer_, 0));
    const bool complete = !std::exchange(initial_, false);
    const bool lasted = executor_.steadyNow() - began > 1s;

    if (!complete && isAbsent(error)) {
      auto absence = absent(error);
      co_await absence;
      co_return Next::State;
    }
    if (expired_ || error.code == ErrorCode::Gone) {
      expired_ = true;
      log::v(2, "watch of {}: resource version {} is too old, listing again", type_.plural,
             resourceVersion_);
      if (lasted) co_return Next::State;
    } else if (!complete && cannotStream(error)) {
      log::v(2, "watch of {}: the server does not support streaming lists: {}", type_.plural,
             error.message);
      streaming_ = false;
      co_return Next::State;
    } else if (error.message.empty() && lasted && complete) {
      failures_ = 0;
      co_return Next::Watch;
    } else if (!error.message.empty()) {
      failed("watch", error);
    }
    auto pause = backOff();
    co_await pause;
    // A refused watch may never work from this version. A missing answer does not show that, and
    // listing then would let a whole fleet list after an outage.
    const bool refused = isRefusal(error) && failures_ > 3;
    co_return complete && !expired_ && !refused ? Next::Watch : Next::State;
  }

  bool isAbsent(const Error& error) const {
    return scope_.optional && (error.code == ErrorCode::NotFound ||
                               (error.code == ErrorCode::Forbidden && !stateRead_));
  }

  // A resource that the server does not offer us has no objects.
  Task<void> absent(const Error& error) {
    if (stateRead_) reportedAbsent_ = false;
    const int verbosity = std::exchange(reportedAbsent_, true) ? 2 : 0;
    log::v(verbosity,
           "the API server does not serve {}.{}: {}; features that need it are off; the next check "
           "is in a minute",
           type_.plural, type_.group, error.message);
    sink_.endReplace();
    stateRead_ = false;
    failures_ = 0;
    auto pause = sleepFor(executor_, kAbsentPeriod);
    co_await pause;
  }

  static bool isRefusal(const Error& error) {
    switch (error.code) {
      case ErrorCode::Unavailable:
      case ErrorCode::Timeout:
      case ErrorCode::TooManyRequests:
      case ErrorCode::Internal:
      case ErrorCode::Unknown:
        return false;
      default:
        return true;
    }
  }

  // About a stream that ended before the list in it was complete.
  bool cannotStream(const Error& error) {
    const bool refused = error.code == ErrorCode::Invalid || error.code == ErrorCode::BadRequest ||
                         error.code == ErrorCode::MethodNotAllowed;
    if (refused || error.message == kSilent) return true;
    // Ended in good order: the server does not support streaming lists.
    if (!error.message.empty()) return false;
    return ++cutStreams_ >= kStreamAttempts;
  }

  void onEvent(std::string_view text) {
    const auto opened = openEvent(
        text, [this](std::string_view kind, const Received& object) { onObject(kind, object); });
    if (!opened) log::warn("watch of {}: {}", type_.plural, opened.error().message);
  }

  void onObject(std::string_view kind, const Received& object) {
    if (kind == "ERROR") {
      const auto status = object.as<api::Status>();
      expired_ = status && status->code == 410;
      if (!expired_)
        log::warn("watch of {}: {}", type_.plural,
                  status ? status->message : status.error().message);
      return;
    }
    if (kind == "ADDED" || kind == "MODIFIED") sink_.upsert(object);
    if (kind == "DELETED") sink_.remove(object);
    if (!initial_) failures_ = 0;
    lastEvent_ = executor_.steadyNow();
    const auto version = object.resourceVersion();
    if (initial_) {
      // Versions of single objects say nothing before the list is complete.
      if (kind != "BOOKMARK" || object.annotation("k8s.io/initial-events-end") != "true") return;
      initial_ = false;
      stateRead_ = true;
      failures_ = 0;
      cutStreams_ = 0;
      executor_.cancel(std::exchange(gapTimer_, 0));
      if (!version.empty()) resourceVersion_ = version;
      sink_.endReplace();
      return;
    }
    // Bookmarks, too, say how far we are.
    if (!version.empty()) resourceVersion_ = version;
  }

  // Calls `tooLong` when no event has come for kInitialEventsGap.
  void watchGap(std::function<void()> tooLong) {
    const SteadyTime due = lastEvent_ + kInitialEventsGap;
    gapTimer_ = executor_.runAt(due, [this, due, tooLong = std::move(tooLong)] {
      gapTimer_ = 0;
      if (lastEvent_ + kInitialEventsGap > due) return watchGap(tooLong);
      tooLong();
    });
  }

  void failed(const char* what, const Error& error) {
    // One line when trouble begins, not one per attempt.
    if (failures_ == 0) {
      log::warn("{} {}: {} (will keep trying)", what, type_.plural, error.message);
    } else {
      log::v(2, "{} {}: {}", what, type_.plural, error.message);
    }
  }

  // 200 ms doubling to 30 s, each up to twice as long by chance.
  Sleep backOff() {
    const auto base = std::min<Duration>(200ms * (1LL << std::min(failures_, 10)), 30s);
    ++failures_;
    return sleepFor(executor_, base + Duration(random_.below(base.count())));
  }

  static constexpr std::string_view kSilent = "the initial list of the watch did not end";

  Api& api_;
  Executor& executor_;
  const api::ResourceType type_;
  const WatchScope scope_;
  ReflectorSink& sink_;
  Random random_;
  std::string resourceVersion_;
  bool streaming_ = true;        // until the server turns out not to know how
  bool initial_ = false;         // the state of the watch that runs is not complete yet
  bool expired_ = false;         // resourceVersion_ has expired
  bool stateRead_ = false;       // the state has been read
  bool reportedAbsent_ = false;  // the log has it
  bool pagesExpired_ = false;    // a list took longer than its continue token was good for
  int cutStreams_ = 0;
  int failures_ = 0;
  SteadyTime lastEvent_{};
  TimerId gapTimer_ = 0;
  TaskGroup tasks_;
};

Reflector::Reflector(Api& api, Executor& executor, const api::ResourceType& type, WatchScope scope,
                     ReflectorSink& sink, Random random)
    : loop_(std::make_unique<Loop>(api, executor, type, std::move(scope), sink, random)) {}

Reflector::~Reflector() = default;

void Reflector::start() {
  loop_->start();
}

const std::string& Reflector::resourceVersion() const {
  return loop_->resourceVersion();
}

}  // namespace koord::kube
