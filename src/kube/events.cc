#include "kube/events.h"

#include <algorithm>

#include "base/host_name.h"
#include "base/log.h"
#include "base/time.h"
#include "base/utf8.h"
#include "kube/client.h"

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
// Events are written one after the other, apart from the caller. When a thousand wait, new ones are dropped: events must
// never slow down the work that they report.

namespace koord::kube {

using namespace std::chrono_literals;

namespace {

// Longer messages are cut, as kube-scheduler does.
constexpr std::size_t kMostOfMessage = 1024;
constexpr std::string_view kCut = " ...";
constexpr Duration kBetweenTries = 10s;
constexpr int kMostTries = 12;
constexpr std::size_t kRemembered = 4096;
constexpr std::size_t kPendingLimit = 1000;
constexpr double kBurst = 25;
constexpr double kRefillPerSecond = 1.0 / 300;
constexpr std::size_t kSimilarLimit = 10;  // texts; the tenth is the first that is combined
constexpr Duration kSimilarWindow = 600s;

std::string objectText(const api::ObjectReference& about) {
  return about.kind + "/" + about.namespace_ + "/" + about.name + "/" + about.uid;
}

bool unreachable(ErrorCode code) {
  return code == ErrorCode::Unavailable || code == ErrorCode::Timeout;
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
  if (message.size() > kMostOfMessage)
    message = std::string(beginningOf(message, kMostOfMessage - kCut.size())).append(kCut);
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
    same->second->count = count;
    same->second->message = std::move(message);
    same->second->lastTimestamp = stamp;
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
  if (pending_.size() >= kPendingLimit) {
    log::v(1, "event {} about {} dropped: the API does not keep up", reason, object);
    return;
  }
  pending_.push_back({dedupKey, std::move(event)});
  pendingByKey_[dedupKey] = &pending_.back().event;
  if (!writing_) tasks_.spawn(writeAll());
}

Task<void> EventRecorder::writeAll() {
  writing_ = true;
  while (!pending_.empty()) {
    const Pending next = std::move(pending_.front());
    pending_.pop_front();
    pendingByKey_.erase(next.dedupKey);
    for (int tries = 1;; ++tries) {
      auto writing = write(next);
      const Result<> written = co_await writing;
      if (written) break;
      log::v(1, "event {} about {}: {}", next.event.reason, next.event.involvedObject.name,
             written.error().message);
      if (!unreachable(written.error().code) || tries == kMostTries) break;
      auto pause = sleepFor(executor_, kBetweenTries);
      co_await pause;
    }
  }
  writing_ = false;
}

Task<Result<>> EventRecorder::write(const Pending& pending) {
  const api::Event& event = pending.event;
  const api::ObjectKey written = seen_.at(pending.dedupKey, Seen{}).key;
  if (!written.name.empty()) {
    json::value change{{"count", event.count},
                       {"message", event.message},
                       {"lastTimestamp", formatTime(*event.lastTimestamp)}};
    auto patching =
        patchOnly(api_, api::Event::kType, written, PatchType::Merge, std::move(change));
    auto patched = co_await patching;
    // An event that has expired on the server is created again with its count.
    if (patched || patched.error().code != ErrorCode::NotFound) co_return patched;
  }
  auto creating = create(api_, event);
  const auto created = co_await creating;
  if (!created) co_return fail(created.error());
  seen_.at(pending.dedupKey, Seen{{}, event.count}).key = api::keyOf(event.metadata);
  co_return Result<>{};
}

api::ObjectReference referenceTo(const api::ResourceType& type, const api::ObjectMeta& meta) {
  return {std::string(type.kind),  meta.namespace_,      meta.name,    meta.uid,
          api::apiVersionOf(type), meta.resourceVersion, std::string{}};
}

}  // namespace koord::kube
