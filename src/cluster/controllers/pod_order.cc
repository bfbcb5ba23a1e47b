#include "cluster/controllers/pod_order.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <unordered_map>

#include "model/pod_requests.h"

namespace koord::cluster {

namespace {

constexpr const char* kDeletionCost = "controller.kubernetes.io/pod-deletion-cost";

// The pod with the smallest rank is deleted first.
struct Place {
  bool assigned;
  int phase;
  bool ready;
  std::int32_t cost = 0;
  int alone = 0;               // smaller if more related pods are on its node
  std::int64_t readyTime = 0;  // how long it has been ready
  std::int64_t restarts;       // smaller if it was restarted more often
  std::int64_t ofSidecars;
  std::int64_t age;
  std::string_view uid;

  auto operator<=>(const Place&) const = default;
};

int rankOf(const std::string& phase) {
  if (phase == "Running") return 2;
  return phase == "Unknown" ? 1 : 0;
}

WallTime readySince(const api::Pod& pod) {
  for (const auto& condition : pod.status.conditions)
    if (condition.type == "Ready" && condition.status == "True")
      return condition.lastTransitionTime.value_or(WallTime{});
  return {};
}

// An invalid cost counts as 0.
std::int32_t costOf(const api::Pod& pod) {
  const std::string* text = api::findIn(pod.metadata.annotations, kDeletionCost);
  if (!text || text->empty()) return 0;
  const char first = text->front();
  if (*text != "0" && first != '-' && (first < '1' || first > '9')) return 0;
  std::int32_t cost = 0;
  const char* end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, cost);
  return error == std::errc{} && rest == end ? cost : 0;
}

std::int64_t mostRestarts(const auto& containers) {
  std::int64_t most = 0;
  for (const auto& container : containers)
    most = std::max<std::int64_t>(most, container.restartCount);
  return most;
}

std::int64_t mostSidecarRestarts(const api::Pod& pod) {
  std::int64_t most = 0;
  for (const auto& status : pod.status.initContainerStatuses) {
    const auto& init = pod.spec.initContainers;
    const auto own = std::ranges::find(init, status.name, &api::Container::name);
    if (own != init.end() && model::isSidecar(*own))
      most = std::max<std::int64_t>(most, status.restartCount);
  }
  return most;
}

// Later times are smaller; an unknown time is the smallest.
std::int64_t newestFirst(WallTime when) {
  return when == WallTime{} ? std::numeric_limits<std::int64_t>::min()
                            : -when.time_since_epoch().count();
}

Place placeOf(const api::Pod& pod) {
  Place place{.assigned = !pod.spec.nodeName.empty(),
              .phase = rankOf(pod.status.phase.str()),
              .ready = isReady(pod),
              .restarts = -mostRestarts(pod.status.containerStatuses),
              .ofSidecars = -mostSidecarRestarts(pod),
              .age = newestFirst(pod.metadata.creationTimestamp.value_or(WallTime{})),
              .uid = pod.metadata.uid};
  if (place.ready) place.readyTime = newestFirst(readySince(pod));
  return place;
}

// The power of two of the nanoseconds since then. A time in the future counts as youngest, except
// for unknown times.
std::int64_t magnitude(WallTime since, WallTime now) {
  if (since == WallTime{}) return -2;
  const auto age = (now - since).count();
  return age > 0 ? std::bit_width(static_cast<std::uint64_t>(age)) - 1 : -1;
}

void sortByPlace(std::vector<PodPtr>& pods, const std::vector<Place>& places) {
  std::vector<std::size_t> order(pods.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return places[a] < places[b]; });
  std::vector<PodPtr> sorted;
  sorted.reserve(pods.size());
  for (const auto i : order) sorted.push_back(std::move(pods[i]));
  pods = std::move(sorted);
}

}  // namespace

void sortForRemoval(std::vector<PodPtr>& pods) {
  std::vector<Place> places;
  for (const auto& pod : pods) places.push_back(placeOf(*pod));
  sortByPlace(pods, places);
}

void sortForScaleDown(std::vector<PodPtr>& pods, const std::vector<PodPtr>& related, WallTime now) {
  std::unordered_map<std::string_view, int> onNode;
  for (const auto& pod : related)
    if (isActive(*pod)) ++onNode[pod->spec.nodeName];
  std::vector<Place> places;
  for (const auto& pod : pods) {
    Place place = placeOf(*pod);
    place.cost = costOf(*pod);
    place.alone = -onNode[pod->spec.nodeName];
    if (place.ready) place.readyTime = magnitude(readySince(*pod), now);
    place.age = magnitude(pod->metadata.creationTimestamp.value_or(WallTime{}), now);
    places.push_back(place);
  }
  sortByPlace(pods, places);
}

}  // namespace koord::cluster
