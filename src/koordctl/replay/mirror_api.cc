#include "koordctl/replay/mirror_api.h"

#include <fmt/format.h>

#include <utility>

#include "api/protobuf/envelope.h"
#include "base/json.h"
#include "kube/received.h"

namespace koord::koordctl {

namespace {

constexpr std::string_view kEndOfState = "k8s.io/initial-events-end";

bool wantsState(const kube::Request& request) {
  return request.query.contains("sendInitialEvents");
}

// The event of the deletion of an object whose last event this is; "" if it is malformed.
std::string deletionOf(const std::string& event) {
  if (event.starts_with('\n')) {
    const auto opened = api::openWatchEvent(event);
    return opened ? api::watchFrame("DELETED", opened->object).substr(api::kFrameHead)
                  : std::string();
  }
  auto document = parseJson(event);
  if (!document || !document->is_object()) return {};
  document->get_object()["type"] = "DELETED";
  return toJson(*document);
}

std::string endOfState() {
  return R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1","annotations":{")" +
         std::string(kEndOfState) + R"(":"true"}}}})";
}

}  // namespace

struct MirrorApi::Follower {
  Topic& topic;
  kube::WatchSink sink;
  bool state = false;  // begins with the whole state
  bool begun = false;
};

class MirrorApi::Handle final : public kube::Watch {
 public:
  explicit Handle(std::shared_ptr<Follower> follower) : follower_(std::move(follower)) {}
  ~Handle() override { follower_->topic.followers.erase(follower_.get()); }

 private:
  std::shared_ptr<Follower> follower_;
};

MirrorApi::~MirrorApi() {
  *alive_ = false;
}

std::string MirrorApi::topicOf(const kube::Request& request) {
  std::string topic = fmt::format("{}/{}/{}", request.group, request.resource, request.namespace_);
  for (const char* selector : {"labelSelector", "fieldSelector"}) {
    topic += '/';
    if (const auto* given = api::findIn(request.query, selector)) topic += std::string(*given);
  }
  return topic;
}

void MirrorApi::send(Topic& topic, std::string_view event) {
  // The sink may end its watch.
  const std::vector<Follower*> all(topic.followers.begin(), topic.followers.end());
  for (Follower* follower : all)
    if (topic.followers.contains(follower) && follower->begun) follower->sink.onEvent(event);
}

void MirrorApi::opened(const kube::Request& watch) {
  Topic& topic = topics_[topicOf(watch)];
  topic.seen = true;
  if (!wantsState(watch)) return;
  topic.unseen.clear();
  for (const auto& [key, event] : topic.objects) topic.unseen.insert(key);
}

void MirrorApi::event(const kube::Request& watch, std::string_view event) {
  Topic& topic = topics_[topicOf(watch)];
  bool state = false;  // it ends here
  const bool lists = !topic.list.empty();
  (void)kube::openEvent(event, [&](std::string_view kind, const kube::Received& object) {
    if (kind == "BOOKMARK") {
      state = object.annotation(kEndOfState) == "true";
      return;
    }
    if (lists || kind == "ERROR") return;
    const api::ObjectKey key = object.key();
    topic.unseen.erase(key);
    if (kind == "DELETED") {
      topic.objects.erase(key);
    } else {
      topic.objects[key] = event;
    }
  });
  if (lists && topic.followers.empty()) topic.sinceList.emplace_back(event);
  if (state) {
    topic.complete = true;
    for (const auto& key : std::exchange(topic.unseen, {})) {
      const std::string deletion = deletionOf(topic.objects[key]);
      topic.objects.erase(key);
      if (!deletion.empty()) send(topic, deletion);
    }
  }
  send(topic, event);
}

void MirrorApi::listed(const kube::Request& list, std::string_view body) {
  Topic& topic = topics_[topicOf(list)];
  topic.seen = topic.complete = true;
  topic.list = body;
  topic.sinceList.clear();
  const std::set<Follower*> followers = std::exchange(topic.followers, {});
  for (Follower* follower : followers)
    follower->sink.onClosed({ErrorCode::Gone, "the recorded scheduler lists again", {}});
}

std::vector<std::string> MirrorApi::missing() const {
  std::vector<std::string> names;
  for (const auto& [name, topic] : topics_) {
    if (topic.seen) continue;
    const auto slash = name.find('/');
    names.push_back(name.substr(slash + 1, name.find('/', slash + 1) - slash - 1));
  }
  return names;
}

Task<Result<std::string>> MirrorApi::never(Executor& executor) {
  auto pause = sleepFor(executor, std::chrono::hours(24 * 365));
  co_await pause;
  co_return fail(ErrorCode::Unavailable, "a replay does not write");
}

Task<Result<std::string>> MirrorApi::call(kube::Request request) {
  if (request.verb == kube::Verb::List) {
    const auto found = topics_.find(topicOf(request));
    if (found != topics_.end() && !found->second.list.empty()) co_return found->second.list;
    co_return fail(ErrorCode::Unavailable, "not listed yet");
  }
  auto waiting = never(executor_);
  auto answer = co_await waiting;
  co_return answer;
}

std::unique_ptr<kube::Watch> MirrorApi::watch(kube::Request request, kube::WatchSink sink) {
  Topic& topic = topics_[topicOf(request)];
  auto follower = std::make_shared<Follower>(topic, std::move(sink), wantsState(request));
  executor_.post([this, alive = alive_, weak = std::weak_ptr(follower)] {
    const auto follower = weak.lock();
    if (*alive && follower) begin(*follower);
  });
  topic.followers.insert(follower.get());
  return std::make_unique<Handle>(std::move(follower));
}

void MirrorApi::begin(Follower& follower) {
  Topic& topic = follower.topic;
  if (!topic.followers.contains(&follower)) return;
  follower.begun = true;
  if (follower.state && !topic.list.empty()) {
    topic.followers.erase(&follower);
    return follower.sink.onClosed({ErrorCode::Invalid, "sendInitialEvents: Forbidden", {}});
  }
  std::vector<std::string> events = std::exchange(topic.sinceList, {});
  if (follower.state) {
    for (const auto& [key, event] : topic.objects) events.push_back(event);
    if (topic.complete) events.push_back(endOfState());
  }
  for (const std::string& event : events)
    if (topic.followers.contains(&follower)) follower.sink.onEvent(event);
}

Task<Result<std::string>> TeeApi::call(kube::Request request) {
  if (request.verb != kube::Verb::List) {
    if (request.verb != kube::Verb::Get) asked_(request);
    auto call = inner_.call(std::move(request));
    auto answer = co_await call;
    co_return answer;
  }
  auto listing = inner_.call(request);
  auto list = co_await listing;
  if (list) mirror_.listed(request, *list);
  co_return list;
}

std::unique_ptr<kube::Watch> TeeApi::watch(kube::Request request, kube::WatchSink sink) {
  mirror_.opened(request);
  kube::WatchSink tee;
  tee.onEvent = [this, request, onEvent = std::move(sink.onEvent)](std::string_view event) {
    const auto keep = onEvent;  // the sink may end this watch
    mirror_.event(request, event);
    keep(event);
  };
  tee.onClosed = std::move(sink.onClosed);
  return inner_.watch(std::move(request), std::move(tee));
}

}  // namespace koord::koordctl
