#include "kube/reflector.h"

#include <algorithm>

#include "base/log.h"

namespace koord::kube {

using namespace std::chrono_literals;

class Reflector::Loop {
 public:
  Loop(Api& api, Executor& executor, const api::ResourceType& type, WatchScope scope,
       ReflectorSink& sink, Random random)
      : api_(api), executor_(executor), type_(type), scope_(std::move(scope)), sink_(sink),
        random_(random) {}

  void start() { tasks_.spawn(run()); }
  const std::string& resourceVersion() const { return resourceVersion_; }

 private:
  enum class Next { Watch, List };

  Task<void> run() {
    std::string from = "0";  // any version will do for the first list
    for (;;) {
      auto listing = list(from);
      const bool listed = co_await listing;
      if (!listed) {
        from = expired_ ? "" : from;
        auto pause = backOff();
        co_await pause;
        continue;
      }
      failures_ = 0;
      for (;;) {
        auto watching = watchOnce();
        const Next next = co_await watching;
        if (next == Next::List) break;
      }
      from = expired_ ? "" : resourceVersion_;
    }
  }

  Request scoped(Verb verb) const {
    Request request = makeRequest(verb, type_, {scope_.namespace_, {}});
    if (!scope_.labelSelector.empty()) request.query["labelSelector"] = scope_.labelSelector;
    if (!scope_.fieldSelector.empty()) request.query["fieldSelector"] = scope_.fieldSelector;
    return request;
  }

  // Lists everything, in pages unless the server may answer from its cache.
  Task<bool> list(std::string from) {
    Request request = scoped(Verb::List);
    if (from.empty()) {
      request.query["limit"] = "500";
    } else {
      request.query["resourceVersion"] = from;
    }
    expired_ = false;
    sink_.beginReplace();
    for (;;) {
      auto call = api_.call(request);
      auto reply = co_await call;
      if (!reply) {
        failed("list", reply.error());
        co_return false;
      }
      auto page = parseJson(*reply);
      if (!page) {
        failed("list", page.error());
        co_return false;
      }
      if (const auto* items = at(*page, "items"); items && items->is_array())
        for (const auto& item : items->get_array()) sink_.upsert(item);
      const std::string next(textAt(*page, "metadata", "continue"));
      if (next.empty()) {
        resourceVersion_ = textAt(*page, "metadata", "resourceVersion");
        sink_.endReplace();
        co_return true;
      }
      request.query.erase("resourceVersion");
      request.query["continue"] = next;
    }
  }

  Task<Next> watchOnce() {
    Request request = scoped(Verb::Watch);
    request.query["resourceVersion"] = resourceVersion_;
    request.query["allowWatchBookmarks"] = "true";
    // Spread over five to ten minutes, so that watches do not all end together.
    request.query["timeoutSeconds"] = std::to_string(300 + random_.below(300));
    auto [closed, completer] = Future<Error>::make(executor_);
    expired_ = false;
    const SteadyTime began = executor_.steadyNow();
    const auto watch = api_.watch(
        request, {[this](std::string_view event) { onEvent(event); },
                  [completer = completer](Error error) { completer.complete(std::move(error)); }});
    const Error error = co_await closed;
    if (expired_ || error.code == ErrorCode::Gone) {
      expired_ = true;
      log::v(2, "watch of {}: resource version {} is too old, listing again", type_.plural,
             resourceVersion_);
      co_return Next::List;
    }
    const bool lasted = executor_.steadyNow() - began > 1s;
    if (error.message.empty() && lasted) {
      failures_ = 0;
      co_return Next::Watch;
    }
    if (!error.message.empty()) failed("watch", error);
    auto pause = backOff();
    co_await pause;
    // A watch that a server refuses outright may never work from this version.
    co_return failures_ > 3 ? Next::List : Next::Watch;
  }

  void onEvent(std::string_view text) {
    const auto event = parseJson(text);
    if (!event) {
      log::warn("watch of {}: {}", type_.plural, event.error().message);
      return;
    }
    const std::string_view kind = textAt(*event, "type");
    const auto* object = at(*event, "object");
    if (!object) return;
    if (kind == "ERROR") {
      const auto* code = at(*object, "code");
      expired_ = code && code->is_int64() && code->get_int64() == 410;
      if (!expired_) log::warn("watch of {}: {}", type_.plural, textAt(*object, "message"));
      return;
    }
    if (kind == "ADDED" || kind == "MODIFIED") sink_.upsert(*object);
    if (kind == "DELETED") sink_.remove(*object);
    // Bookmarks, too, say how far we are.
    if (const auto version = textAt(*object, "metadata", "resourceVersion"); !version.empty())
      resourceVersion_ = version;
    failures_ = 0;
  }

  void failed(const char* what, const Error& error) {
    expired_ = error.code == ErrorCode::Gone;
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

  Api& api_;
  Executor& executor_;
  const api::ResourceType type_;
  const WatchScope scope_;
  ReflectorSink& sink_;
  Random random_;
  std::string resourceVersion_;
  bool expired_ = false;
  int failures_ = 0;
  TaskGroup tasks_;
};

Reflector::Reflector(Api& api, Executor& executor, const api::ResourceType& type, WatchScope scope,
                     ReflectorSink& sink, Random random)
    : loop_(std::make_unique<Loop>(api, executor, type, std::move(scope), sink, random)) {}

Reflector::~Reflector() = default;

void Reflector::start() { loop_->start(); }

const std::string& Reflector::resourceVersion() const { return loop_->resourceVersion(); }

}  // namespace koord::kube
