#pragma once

// The selector index as upstream shows it: which usable reservations have a label by which pods may
// select them (args reservationSelectorIndex). Matching does not use it, because reservations are
// found by their owners. It is computed on request, and its queries are counted as upstream counts
// them.

#include <array>
#include <functional>

#include "base/json.h"
#include "scheduler/plugins/reservation/args.h"
#include "scheduler/plugins/reservation/matcher.h"

namespace koord::scheduler {

class SelectorIndex {
 public:
  SelectorIndex(const ReservationIndex& index, const Cluster& cluster, ReservationArgs args)
      : index_(index), cluster_(cluster), args_(std::move(args)) {}

  // The answer of /reservationSelectorIndex; `detail`: with the uids by node.
  json::object show(bool detail) const;
  // Called when a pod selects reservations by labels. Walks over all reservations if the index is
  // enabled.
  void count(const ReservationRequest& reservationRequest);
  std::string metrics() const;

 private:
  // The uids of usable reservations by node.
  using Bucket = std::map<std::string, std::vector<std::string>>;
  struct Buckets {
    std::size_t reservations = 0;
    std::map<std::string, Bucket> byPrefix;
    std::map<std::string, std::map<std::string, Bucket>> byKeyValue;
  };
  static constexpr int kSteps = 16;  // of the histogram: 1, 2, 4, ...

  Buckets buckets() const;
  // The number of nodes that have usable reservations with labels for which `indexed` is true.
  std::size_t nodesWith(const std::function<bool(const api::StringMap&)>& indexed) const;
  // The configured prefix that the label begins with; "" if none.
  std::string prefixOf(const std::string& key) const;
  bool isKey(const std::string& key) const;

  const ReservationIndex& index_;
  const Cluster& cluster_;
  const ReservationArgs args_;
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
  std::uint64_t candidates_ = 0;  // sum over hits that had candidates
  std::array<std::uint64_t, kSteps + 1> counts_{};
};

}  // namespace koord::scheduler
