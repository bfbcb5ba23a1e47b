#include "cluster/controllers/disruption_zones.h"

#include <algorithm>

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {

constexpr Duration kPause = 10s;          // between two nodes of a zone
constexpr Duration kCarefulPause = 100s;  // the same when most of its nodes fail
constexpr Duration kRetryDelay = 5s;
constexpr int kLargeZone = 50;  // smaller zones evict no pod if most nodes fail
constexpr double kUnhealthyShare = 0.55;

constexpr const char* kExcluded = "node.kubernetes.io/exclude-disruption";

std::string zoneOf(const api::Node& node) {
  const auto label = [&](const char* stable, const char* former) {
    const auto* value = api::findIn(node.metadata.labels, stable);
    if (!value) value = api::findIn(node.metadata.labels, former);
    return value ? *value : std::string();
  };
  return label("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region") + '\n' +
         label("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone");
}

// nullopt for nodes that do not count.
std::optional<bool> readiness(const api::Node* node) {
  if (!node || node->metadata.labels.contains(kExcluded)) return std::nullopt;
  for (const auto& condition : node->status.conditions)
    if (condition.type == "Ready") return condition.status == "True";
  return std::nullopt;
}

}  // namespace

void DisruptionZones::count(const api::Node* before, const api::Node* after) {
  const auto add = [this](const api::Node* node, int by) {
    const auto ready = readiness(node);
    if (!ready) return;
    Zone& zone = zones_[zoneOf(*node)];
    (*ready ? zone.ready : zone.failing) += by;
    (*ready ? ready_ : failing_) += by;
  };
  add(before, -1);
  add(after, 1);
}

std::optional<Duration> DisruptionZones::pauseOf(const Zone& zone) {
  const int size = zone.ready + zone.failing;
  // A zone without any ready node, next to ready zones, has certainly failed.
  const bool most = zone.ready > 0 && zone.failing > 2 && zone.failing >= kUnhealthyShare * size;
  if (!most) return kPause;
  if (size > kLargeZone) return kCarefulPause;
  return std::nullopt;
}

std::optional<Duration> DisruptionZones::waitFor(const api::Node& node, SteadyTime now) {
  Zone& zone = zones_[zoneOf(node)];
  const auto pause = pauseOf(zone);
  if (allFail() || !pause) return kRetryDelay;
  if (zone.last && now < *zone.last + *pause)
    return std::min(*zone.last + *pause - now, kRetryDelay);
  zone.last = now;
  return std::nullopt;
}

}  // namespace koord::cluster
