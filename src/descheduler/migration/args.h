#pragma once

// MigrationControllerArgs.

#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/fields.h"
#include "descheduler/migration/workload_limits.h"
#include "descheduler/rules/evictor_filter.h"
#include "descheduler/rules/namespaces.h"

namespace koord::descheduler {

// How many pods that share something may be evicted in a span of time; 0 = any number.
struct ObjectLimit {
  Duration duration{};
  std::optional<NumberOrPercent> maxMigrating;
  std::int64_t burst = 0;  // 0 = 1
};

// Where the answer comes from to where a pod would land (ours; landing.h).
struct LandingArgs {
  bool enabled = true;
  std::string schedulerURL;  // "" = the leader of koord-scheduler, found by its lease
  std::string leaseNamespace = "koordinator-system";
  std::string leaseName = "koord-scheduler";
  std::int64_t port = 10259;
  // Who has signed the scheduler's certificate. "": it is the one that the lease tells of, or, with a
  // schedulerURL and a lease that tells of none, signed by one whom the system trusts.
  std::string caFile;
  Duration noReturnPeriod = std::chrono::minutes(10);  // 0 = pods may go back at once
};

struct MigrationControllerArgs {
  bool dryRun = false;
  std::int64_t maxConcurrentReconciles = 1;
  EvictorFilter evictor;
  std::optional<std::int64_t> priorityValue;
  std::string priorityName;   // of a PriorityClass, which has to be there at start
  json::value labelSelector;  // as it was given
  Namespaces namespaces;
  bool nodeFit = false;
  std::string nodeSelector;
  std::set<std::string, std::less<>> skipGates;
  std::int64_t maxMigratingGlobally = 0;  // 0 = any number; also of the next two
  std::int64_t maxMigratingPerNode = 2;
  std::int64_t maxMigratingPerNamespace = 0;
  std::int64_t maxArrivingPerNode = 0;  // ours (arrival_limit.h); 0 = any number
  std::optional<NumberOrPercent> maxMigratingPerWorkload;
  std::optional<NumberOrPercent> maxUnavailablePerWorkload;
  bool skipCheckExpectedReplicas = false;
  std::map<std::string, ObjectLimit, std::less<>> objectLimiters;  // workload, namespace, cluster
  std::string defaultJobMode = "ReservationFirst";
  Duration defaultJobTTL = std::chrono::minutes(5);  // 0 = no end
  std::vector<std::string> schedulerNames{"koord-scheduler"};
  double evictQPS = 10;
  std::int64_t evictBurst = 1;
  std::string evictionPolicy = "Eviction";
  json::value defaultDeleteOptions;  // null = none
  bool arbitration = true;
  Duration arbitrationInterval = std::chrono::milliseconds(500);
  LandingArgs landing;

  bool skips(std::string_view gate) const { return skipGates.contains(gate); }
  // Problems are noted in `fields`.
  static MigrationControllerArgs read(Fields& fields);
  json::object document() const;  // what is in force
};

}  // namespace koord::descheduler
