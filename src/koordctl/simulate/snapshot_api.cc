#include "koordctl/simulate/snapshot_api.h"

#include "base/json.h"

namespace koord::koordctl {

namespace {

constexpr std::string_view kStateComplete =
    R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1","annotations":{)"
    R"("k8s.io/initial-events-end":"true"}}}})";

bool hasEnded(std::string_view pod) {
  // Few pods have these words, so few are read twice. A search for a letter is faster than one for
  // a quote, of which JSON is full.
  if (pod.find("Succeeded") == pod.npos && pod.find("Failed") == pod.npos) return false;
  const auto document = parseJson(pod);
  const std::string_view phase = document ? textAt(*document, "status", "phase") : "";
  return phase == "Succeeded" || phase == "Failed";
}

}  // namespace

class SnapshotApi::Follower final : public kube::Watch {
 public:
  explicit Follower(std::shared_ptr<bool> watched) : watched_(std::move(watched)) {}

 private:
  const std::shared_ptr<bool> watched_;
};

void SnapshotApi::add(std::string_view resource, std::string_view object) {
  if (resource == "pods" && hasEnded(object)) {
    if (onEnded) onEnded(object);
    return;
  }
  auto found = objects_.find(resource);
  if (found == objects_.end()) found = objects_.emplace(resource, std::vector<std::string>()).first;
  found->second.emplace_back(object);
}

Task<Result<std::string>> SnapshotApi::call(kube::Request) {
  co_return fail(ErrorCode::Unavailable, "a snapshot answers no calls");
}

std::unique_ptr<kube::Watch> SnapshotApi::watch(kube::Request request, kube::WatchSink sink) {
  const std::string resource =
      request.group.empty() ? request.resource : request.resource + "." + request.group;
  auto watched = std::make_shared<bool>(true);
  executor_.post([this, resource, sink = std::move(sink), weak = std::weak_ptr(watched)] {
    send(resource, sink, weak);
  });
  return std::make_unique<Follower>(std::move(watched));
}

void SnapshotApi::send(const std::string& resource, const kube::WatchSink& sink,
                       const std::weak_ptr<bool>& watched) const {
  const auto found = objects_.find(resource);
  if (found != objects_.end()) {
    std::string event;
    for (const std::string& object : found->second) {
      if (watched.expired()) return;
      event = R"({"type":"ADDED","object":)";
      event += object;
      event += '}';
      sink.onEvent(event);
    }
  }
  if (!watched.expired()) sink.onEvent(kStateComplete);
}

}  // namespace koord::koordctl
