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

// The maximum number of evictions in a duration, for pods of one workload, namespace or cluster; 0
// = unlimited.
struct ObjectLimit {
  Duration duration{};
  std::optional<NumberOrPercent> maxMigrating;
  std::int64_t burst = 0;  // 0 = 1
};

// The source of placement predictions (landing.h). Not in upstream.
struct LandingArgs {
  bool enabled = true;
  std::string schedulerURL;  // "" = the leader of koord-scheduler, found by its lease
  std::string leaseNamespace = "koordinator-system";
  std::string leaseName = "koord-scheduler";
  std::int64_t port = 10259;
  // The authority of the scheduler's certificate. "": the certificate in the lease or, with a
  // schedulerURL and a lease without a certificate, the system's authorities.
  std::string caFile;
  Duration noReturnPeriod = std::chrono::minutes(10);  // 0 = pods may return at once
};

struct MigrationControllerArgs {
  bool dryRun = false;
  std::int64_t maxConcurrentReconciles = 1;
  EvictorFilter evictor;
  std::optional<std::int64_t> priorityValue;
  std::string priorityName;   // of a PriorityClass that must exist at start
  json::value labelSelector;  // as given
  Namespaces namespaces;
  bool nodeFit = false;
  std::string nodeSelector;
  std::set<std::string, std::less<>> skipGates;
  std::int64_t maxMigratingGlobally = 0;  // 0 = unlimited, as for the next two
  std::int64_t maxMigratingPerNode = 2;
  std::int64_t maxMigratingPerNamespace = 0;
  std::int64_t maxArrivingPerNode = 0;  // not in upstream (arrival_limit.h); 0 = unlimited
  std::optional<NumberOrPercent> maxMigratingPerWorkload;
  std::optional<NumberOrPercent> maxUnavailablePerWorkload;
  bool skipCheckExpectedReplicas = false;
  std::map<std::string, ObjectLimit, std::less<>> objectLimiters;  // workload, namespace, cluster
  std::string defaultJobMode = "ReservationFirst";
  Duration defaultJobTTL = std::chrono::minutes(5);  // 0 = unlimited
  std::vector<std::string> schedulerNames{"koord-scheduler"};
  double evictQPS = 10;
  std::int64_t evictBurst = 1;
  std::string evictionPolicy = "Eviction";
  json::value defaultDeleteOptions;  // null = none
  bool arbitration = true;
  Duration arbitrationInterval = std::chrono::milliseconds(500);
  LandingArgs landing;

  bool skips(std::string_view gate) const { return skipGates.contains(gate); }
  // Adds problems to `fields`.
  static MigrationControllerArgs read(Fields& fields);
  json::object document() const;  // the arguments in force
};

}  // namespace koord::descheduler
