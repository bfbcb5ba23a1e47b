#include "kube/events.h"

#include <algorithm>
#include <utility>

#include "base/host_name.h"
#include "base/log.h"
#include "base/time.h"
#include "base/utf8.h"
#include "kube/client.h"
#include "kube/retry.h"

// An event goes through three filters, as in client-go, whose figures these are. (1) Aggregation:
// events of one object, type and reason whose texts differ; from the tenth text within ten minutes
// on they are one event, "(combined from similar events)". Texts seen before stay what they are.
// (2) Counting: what is the same as before raises the count of the event that was written, by a
// patch. (3) Spam: a bucket of 25 per object, refilled by one each five minutes; what is over it is
// counted and not written.
//
// The memories (kRemembered objects each) forget what was noted first, and hold digests instead of
// texts, since a scheduler may report on a hundred thousand pods. A collision merges two events,
// which costs a count and nothing else.
//
// Events are written one after the other, apart from the caller. When a thousand wait, new ones are
// dropped: events must never slow down the work that they report.

namespace koord::kube {

using namespace std::chrono_literals;

namespace {

// Longer messages are cut, as kube-scheduler does.
constexpr std::size_t kMaxOfMessage = 1024;
constexpr std::string_view kCut = " ...";
constexpr Duration kMinPause = 1s, kMaxPause = 10s;  // after a failed write; doubles
constexpr Duration kPatience = 2min;                 // with one event
constexpr std::size_t kRemembered = 4096;
constexpr std::size_t kPendingLimit = 1000;
constexpr double kBurst = 25;
constexpr double kRefillPerSecond = 1.0 / 300;
constexpr std::size_t kSimilarLimit = 10;  // texts; the tenth is the first that is combined
constexpr Duration kSimilarWindow = 600s;

std::string objectText(const api::ObjectReference& about) {
  return about.kind + "/" + about.namespace_ + "/" + about.name + "/" + about.uid;
}

}  // namespace

EventRecorder::EventRecorder(Api& api, Executor& executor, std::string component, Random random)
    : api_(api),
      executor_(executor),
      component_(std::move(component)),
      instance_(component_ + "-" + hostName()),
      random_(random),
      seen_(kRemembered),
      similar_(kRemembered),
      budgets_(kRemembered) {}

bool EventRecorder::spend(Digest object) {
  const SteadyTime now = executor_.steadyNow();
  Budget& budget = budgets_.at(object, Budget{kBurst, now});
  const double passed = std::chrono::duration<double>(now - budget.refilled).count();
  budget.tokens = std::min(kBurst, budget.tokens + passed * kRefillPerSecond);
  budget.refilled = now;
  if (budget.tokens < 1) return false;
  budget.tokens -= 1;
  return true;
}

void EventRecorder::record(const api::ObjectReference& about, std::string_view type,
                           std::string_view reason, std::string message, std::string_view action,
                           std::optional<api::ObjectReference> related) {
  if (!isUtf8(message)) message = asUtf8(message);
  if (message.size() > kMaxOfMessage)
    message = std::string(utf8Prefix(message, kMaxOfMessage - kCut.size())).append(kCut);
  const std::string object = objectText(about);
  const std::string kind = fmt::format("{}|{}|{}", object, type, reason);
  const std::hash<std::string> digest;

  // Many events that differ in their text only become one.
  Similar& similar = similar_.at(digest(kind), Similar{});
  const SteadyTime now = executor_.steadyNow();
  if (now - similar.last > kSimilarWindow) similar.messages.clear();
  similar.last = now;
  const Digest text = digest(message);
  bool known = std::ranges::find(similar.messages, text) != similar.messages.end();
  if (!known && similar.messages.size() + 1 < kSimilarLimit) {
    similar.messages.push_back(text);
    known = true;
  }
  const Digest dedupKey = digest(known ? kind + "|" + message : kind);
  if (!known) message = "(combined from similar events): " + message;
  // What is not written for being too much counts all the same.
  const std::int32_t count = ++seen_.at(dedupKey, Seen{}).count;
  if (!spend(digest(object))) return;

  const WallTime stamp = executor_.wallNow();
  if (const auto same = pendingByKey_.find(dedupKey); same != pendingByKey_.end()) {
    api::Event& event = same->second->event;
    event.count = std::max(event.count + 1, count);
    event.message = std::move(message);
    event.lastTimestamp = stamp;
    return;
  }
  api::Event event;
  event.metadata.namespace_ = about.namespace_.empty() ? "default" : about.namespace_;
  event.metadata.name = fmt::format("{}.{:016x}", about.name, random_.next());
  event.involvedObject = about;
  event.reason = reason;
  event.message = std::move(message);
  event.source.component = component_;
  event.reportingComponent = component_;
  event.reportingInstance = instance_;
  event.firstTimestamp = stamp;
  event.lastTimestamp = stamp;
  event.count = count;
  event.type = type;
  event.action = action;
  event.related = std::move(related);
  if (pending_.size() >= kPendingLimit) return lost(event, "the API server is too slow");
  add({dedupKey, std::move(event)});
  if (!writing_) tasks_.spawn(writeAll());
}

void EventRecorder::add(Pending pending) {
  pending_.push_back(std::move(pending));
  pendingByKey_[pending_.back().dedupKey] = &pending_.back();
}

Task<void> EventRecorder::writeAll() {
  writing_ = true;
  Duration pause = kMinPause;
  while (!pending_.empty()) {
    Pending next = std::move(pending_.front());
    pending_.pop_front();
    pendingByKey_.erase(next.dedupKey);
    const SteadyTime now = executor_.steadyNow();
    if (!next.tried) next.since = now;
    auto writing = write(next);
    const Result<> written = co_await writing;
    if (written) {
      onWriteSucceeded();
      pause = kMinPause;
      continue;
    }
    if (!isRetriable(written.error()) || executor_.steadyNow() - next.since >= kPatience) {
      lost(next.event, written.error().message);
      continue;
    }
    next.tried = true;
    retryLater(std::move(next));
    // Programs that lost the API at the same moment do not come back at the same moment.
    auto resting = sleepFor(executor_, pause / 2 + Duration(random_.below(pause.count())));
    co_await resting;
    pause = std::min(pause * 2, kMaxPause);
  }
  writing_ = false;
}

void EventRecorder::retryLater(Pending pending) {
  const auto newer = pendingByKey_.find(pending.dedupKey);
  if (newer == pendingByKey_.end()) return add(std::move(pending));
  // A repeat came meanwhile. It replaces this event, under its name: an attempt may have written
  // it.
  api::Event& event = newer->second->event;
  event.firstTimestamp = pending.event.firstTimestamp;
  event.metadata.name = pending.event.metadata.name;
  newer->second->since = pending.since;
  newer->second->tried = true;
}

Task<Result<>> EventRecorder::write(const Pending& pending) {
  const api::Event& event = pending.event;
  const Seen* known = seen_.find(pending.dedupKey);
  const api::ObjectKey written = known ? known->key : api::ObjectKey{};
  json::value change{{"count", event.count},
                     {"message", event.message},
                     {"lastTimestamp", formatTime(*event.lastTimestamp)}};
  if (!written.name.empty()) {
    auto patching = patchOnly(api_, api::Event::kType, written, PatchType::Merge, change);
    auto patched = co_await patching;
    // An event that has expired on the server is created again with its count.
    if (patched || patched.error().code != ErrorCode::NotFound) co_return patched;
  }
  auto creating = create(api_, event);
  const auto created = co_await creating;
  const bool there = created || (pending.tried && created.error().code == ErrorCode::AlreadyExists);
  if (!there) co_return fail(created.error());
  Seen& seen = seen_.at(pending.dedupKey, Seen{});
  seen.key = api::keyOf(event.metadata);
  seen.count = std::max(seen.count, event.count);
  if (created) co_return Result<>{};
  // An earlier attempt wrote it, perhaps with a lower count.
  auto patching = patchOnly(api_, api::Event::kType, seen.key, PatchType::Merge, std::move(change));
  auto patched = co_await patching;
  co_return patched;
}

void EventRecorder::lost(const api::Event& event, std::string_view why) {
  const std::string text = fmt::format("event {} about {} is lost: {}", event.reason,
                                       objectText(event.involvedObject), why);
  if (lost_++ == 0) {
    log::warn("{}", text);
  } else {
    log::v(1, "{}", text);
  }
}

void EventRecorder::onWriteSucceeded() {
  if (const std::size_t count = std::exchange(lost_, 0); count > 1)
    log::warn("events are recorded again; {} were lost", count);
}

api::ObjectReference referenceTo(const api::ResourceType& type, const api::ObjectMeta& meta) {
  return {std::string(type.kind),  meta.namespace_,      meta.name,    meta.uid,
          api::apiVersionOf(type), meta.resourceVersion, std::string{}};
}

}  // namespace koord::kube
