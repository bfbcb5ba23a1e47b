#include "scheduler/plugins/reservation/selector_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace koord::scheduler {

namespace {

json::object shown(const std::map<std::string, std::vector<std::string>>& bucket, bool detail) {
  std::size_t reservations = 0;
  json::object byNode;
  for (const auto& [node, uids] : bucket) {
    reservations += uids.size();
    json::array list;
    for (const std::string& uid : uids) list.push_back(json::string(uid));
    byNode[node] = std::move(list);
  }
  json::object stat{{"nodes", bucket.size()}, {"reservations", reservations}};
  if (detail && !byNode.empty()) stat["byNode"] = std::move(byNode);
  return stat;
}

}  // namespace

bool SelectorIndex::isKey(const std::string& key) const {
  return std::ranges::find(args_.indexKeys, key) != args_.indexKeys.end();
}

std::string SelectorIndex::prefixOf(const std::string& key) const {
  for (const std::string& prefix : args_.indexKeyPrefixes)
    if (!prefix.empty() && key.starts_with(prefix)) return prefix;
  return "";
}

SelectorIndex::Buckets SelectorIndex::buckets() const {
  Buckets all;
  for (const auto& [name, reservation] : index_.all()) {
    if (reservation->node == kNoNode || !reservation->usable()) continue;
    const std::string& node = cluster_.node(reservation->node).name;
    std::set<std::string> prefixes;
    bool indexed = false;
    for (const auto& [key, value] : reservation->object->metadata.labels) {
      if (isKey(key)) {
        all.byKeyValue[key][value][node].push_back(reservation->uid());
        indexed = true;
      }
      if (std::string prefix = prefixOf(key); !prefix.empty()) prefixes.insert(std::move(prefix));
    }
    for (const std::string& prefix : prefixes)
      all.byPrefix[prefix][node].push_back(reservation->uid());
    if (indexed || !prefixes.empty()) ++all.reservations;
  }
  return all;
}

json::object SelectorIndex::show(bool detail) const {
  json::array prefixes, keys;
  for (const auto& prefix : args_.indexKeyPrefixes) prefixes.push_back(json::string(prefix));
  for (const auto& key : args_.indexKeys) keys.push_back(json::string(key));
  json::object answer{{"enabled", args_.indexEnabled}, {"prefixes", std::move(prefixes)}};
  if (!keys.empty()) answer["keys"] = std::move(keys);
  if (!args_.indexEnabled) {
    answer["indexedReservations"] = 0;
    return answer;
  }
  const Buckets all = buckets();
  answer["indexedReservations"] = all.reservations;
  json::object byPrefix, byKey, byKeyValue;
  for (const auto& [prefix, bucket] : all.byPrefix) byPrefix[prefix] = shown(bucket, detail);
  for (const auto& [key, values] : all.byKeyValue) {
    Bucket together;
    json::object each;
    for (const auto& [value, bucket] : values) {
      each[value] = shown(bucket, detail);
      for (const auto& [node, uids] : bucket)
        together[node].insert(together[node].end(), uids.begin(), uids.end());
    }
    byKey[key] = shown(together, detail);
    byKeyValue[key] = std::move(each);
  }
  if (!byPrefix.empty()) answer["byPrefix"] = std::move(byPrefix);
  if (!byKey.empty()) answer["byKey"] = std::move(byKey);
  if (detail && !byKeyValue.empty()) answer["byKeyValue"] = std::move(byKeyValue);
  return answer;
}

std::size_t SelectorIndex::nodesWith(
    const std::function<bool(const api::StringMap&)>& indexed) const {
  NodeSet nodes;
  for (const auto& [name, reservation] : index_.all())
    if (reservation->node != kNoNode && reservation->usable() &&
        indexed(reservation->object->metadata.labels))
      nodes.insert(reservation->node);
  return nodes.size();
}

// Visits only the labels that the pod asks for, because it runs for every pod that selects by
// labels.
void SelectorIndex::count(const ReservationRequest& reservationRequest) {
  if (!args_.indexEnabled || reservationRequest.labels.empty()) return;
  std::optional<std::size_t> fewest;
  const auto see = [&](std::size_t nodes) { fewest = std::min(fewest.value_or(nodes), nodes); };
  for (const auto& requirement : reservationRequest.labels.requirements()) {
    if (isKey(requirement.key)) {
      see(requirement.values.empty() ? 0 : nodesWith([&](const api::StringMap& labels) {
        const std::string* value = api::findIn(labels, requirement.key);
        return value && *value == *requirement.values.begin();
      }));
    } else if (const std::string prefix = prefixOf(requirement.key); !prefix.empty()) {
      see(nodesWith([&](const api::StringMap& labels) {
        return std::ranges::any_of(
            labels, [&](const auto& label) { return prefixOf(label.first) == prefix; });
      }));
    }
  }
  if (!fewest) {
    ++misses_;
    return;
  }
  ++hits_;
  if (*fewest == 0) return;
  candidates_ += *fewest;
  int step = 0;
  while (step < kSteps && (std::size_t{1} << step) < *fewest) ++step;
  ++counts_[static_cast<std::size_t>(step)];
}

std::string SelectorIndex::metrics() const {
  constexpr const char* kQueries = "scheduler_reservation_selector_index_query_total";
  constexpr const char* kCandidates = "scheduler_reservation_selector_index_candidates_count";
  std::string text = fmt::format(
      "# HELP scheduler_reservation_selector_index_query_total Pods that select reservations by "
      "labels, by whether a label is indexed\n"
      "# TYPE scheduler_reservation_selector_index_query_total counter\n{0}{{result=\"hit\"}} "
      "{1}\n{0}{{result=\"miss\"}} {2}\n"
      "# HELP scheduler_reservation_selector_index_candidates_count Candidate nodes of a pod that "
      "selects reservations by an indexed label\n"
      "# TYPE scheduler_reservation_selector_index_candidates_count histogram\n",
      kQueries, hits_, misses_);
  std::uint64_t sum = 0;
  for (int step = 0; step < kSteps; ++step) {
    sum += counts_[static_cast<std::size_t>(step)];
    text += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", kCandidates, std::uint64_t{1} << step, sum);
  }
  sum += counts_[kSteps];
  text += fmt::format("{0}_bucket{{le=\"+Inf\"}} {1}\n{0}_sum {2}\n{0}_count {1}\n", kCandidates,
                      sum, candidates_);
  return text;
}

}  // namespace koord::scheduler
