#pragma once

// QuotaController: the leader's work on quotas other than scheduling. It
// - creates the built-in quotas;
// - writes the request, use and runtime of quotas to their objects when they have changed;
// - reports invalid objects;
// - verifies sums;
// - evicts pods from quotas that use too much.

#include <map>
#include <set>

#include "base/task.h"
#include "scheduler/plugins/elasticquota/quotas.h"

namespace koord::scheduler {

class QuotaController {
 public:
  QuotaController(Handle& handle, Quotas& quotas, const ElasticQuotaArgs& args)
      : handle_(handle), quotas_(quotas), args_(args) {}

  Task<void> run();

  std::uint64_t revoked() const { return revoked_; }

 private:
  struct Write {
    api::ObjectKey key;
    json::value patch;
  };
  struct Written {
    std::uint64_t stamp = 0;      // of the quota's cells
    std::string resourceVersion;  // of the object
  };

  Task<void> createBuiltIn();
  Task<void> create(std::string name, api::ElasticQuota quota);
  Task<void> revokeLoop();
  void writeStatuses();
  Task<void> writeSome();
  void reportProblems();
  void check();
  std::vector<PodPtr> overUsers();
  Task<void> evict(PodPtr pod);

  Handle& handle_;
  Quotas& quotas_;
  const ElasticQuotaArgs args_;
  std::map<std::string, Written> written_;                    // by quota
  std::vector<Write> writes_;                                 // pending, last first
  std::map<std::string, std::vector<std::string>> reported_;  // reported problems, by quota
  std::map<std::string, SteadyTime> within_;  // when a quota was last within its runtime
  std::set<std::string> evicting_;            // uids
  std::set<std::string> creating_;
  std::uint64_t revoked_ = 0;
  int rounds_ = 0;
  TaskGroup writers_;
  TaskGroup evictions_;
};

}  // namespace koord::scheduler
