#pragma once

// The last changes that koordlet made on this node: cgroup, file, old and new value, and reason.
// Served as JSON, so that an operator can ask "who set this quota". Bounded: a new entry replaces
// the oldest one.

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/json.h"

namespace koord::koordlet {

struct AuditEntry {
  WallTime time{};
  std::string cgroup;  // relative to the hierarchy; for an eviction, namespace/name of the pod
  std::string file;    // "cpu.cfs_quota_us"; "pod" for an eviction
  std::string before;
  std::string after;
  std::string reason;
};

class AuditRing {
 public:
  explicit AuditRing(std::size_t capacity = 2048) : capacity_(capacity) {}

  void add(AuditEntry entry) {
    if (entries_.size() >= capacity_) entries_.pop_front();
    for (const auto& fn : onAdd_) fn(entry);
    entries_.push_back(std::move(entry));
    ++added_;
  }
  // Adds a function that is called for each further change. Functions cannot be removed.
  void onAdd(std::function<void(const AuditEntry&)> fn) { onAdd_.push_back(std::move(fn)); }
  const std::deque<AuditEntry>& entries() const { return entries_; }
  std::uint64_t added() const { return added_; }

  // {"total": n, "entries": [...]}: the newest `limit` entries, newest first, of cgroups that
  // contain `cgroup`.
  json::value toJson(std::size_t limit, std::string_view cgroup = "") const;

 private:
  std::size_t capacity_;
  std::deque<AuditEntry> entries_;
  std::vector<std::function<void(const AuditEntry&)>> onAdd_;
  std::uint64_t added_ = 0;
};

}  // namespace koord::koordlet
