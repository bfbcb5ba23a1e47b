#include "kube/election_config.h"

#include <fmt/format.h>

#include "base/time.h"

namespace koord::kube {

namespace {

// Of fields that are not pointers upstream, nothing given and zero given are the same.
template <class T>
void setIfNotEmpty(T& into, T given) {
  if (given != T{}) into = std::move(given);
}

}  // namespace

void readElection(Fields fields, ElectionConfig& into) {
  into.leaderElect = fields.boolean("leaderElect", into.leaderElect);
  setIfNotEmpty(into.leaseDuration, fields.duration("leaseDuration", {}));
  setIfNotEmpty(into.renewDeadline, fields.duration("renewDeadline", {}));
  setIfNotEmpty(into.retryPeriod, fields.duration("retryPeriod", {}));
  setIfNotEmpty(into.resourceLock, fields.text("resourceLock"));
  setIfNotEmpty(into.resourceName, fields.text("resourceName"));
  setIfNotEmpty(into.resourceNamespace, fields.text("resourceNamespace"));
  fields.refuseUnknown();
}

void checkElection(const ElectionConfig& election, std::vector<std::string>& errors) {
  if (!election.leaderElect) return;
  const auto refuse = [&](std::string_view field, const std::string& value, std::string_view why) {
    errors.push_back(
        fmt::format("leaderElection.{}: Invalid value: \"{}\": {}", field, value, why));
  };
  const auto positive = [&](std::string_view field, Duration duration) {
    if (duration <= Duration::zero())
      refuse(field, formatDuration(duration), "must be greater than zero");
  };
  positive("leaseDuration", election.leaseDuration);
  positive("renewDeadline", election.renewDeadline);
  positive("retryPeriod", election.retryPeriod);
  if (election.leaseDuration <= election.renewDeadline) {
    refuse("leaseDuration", formatDuration(election.renewDeadline),
           "must be greater than `RenewDeadline`");
  }
  // Upstream finds this out when it is about to take part in the election.
  if (election.renewDeadline * 10 <= election.retryPeriod * 12) {
    refuse("renewDeadline", formatDuration(election.renewDeadline),
           "must be greater than retryPeriod*JitterFactor");
  }
  if (election.resourceLock != "leases")
    refuse("resourceLock", election.resourceLock, "resourceLock value must be \"leases\"");
  if (election.resourceName.empty()) refuse("resourceName", "", "resourceName is required");
  if (election.resourceNamespace.empty())
    refuse("resourceNamespace", "", "resourceNamespace is required");
}

json::object electionDocument(const ElectionConfig& election) {
  return {{"leaderElect", election.leaderElect},
          {"leaseDuration", formatDuration(election.leaseDuration)},
          {"renewDeadline", formatDuration(election.renewDeadline)},
          {"retryPeriod", formatDuration(election.retryPeriod)},
          {"resourceLock", election.resourceLock},
          {"resourceName", election.resourceName},
          {"resourceNamespace", election.resourceNamespace}};
}

void addElectionFlags(flags::FlagSet& set, ElectionConfig& election, std::string_view purpose) {
  set.group("Leader election");
  set.boolean("leader-elect", election.leaderElect,
              fmt::format("{} only while holding the lease", purpose));
  set.duration("leader-elect-lease-duration", election.leaseDuration, "Validity of the lease");
  set.duration("leader-elect-renew-deadline", election.renewDeadline,
               "How long the leader tries to renew the lease");
  set.duration("leader-elect-retry-period", election.retryPeriod, "Time between attempts");
  set.text("leader-elect-resource-lock", election.resourceLock,
           "Kind of the lock; only leases is supported");
  set.text("leader-elect-resource-name", election.resourceName, "Name of the lease");
  set.text("leader-elect-resource-namespace", election.resourceNamespace, "Namespace of the lease");
}

void overrideElection(const flags::FlagSet& given, const ElectionConfig& byFlags,
                      ElectionConfig& election) {
  const auto override = [&](const char* flag, auto ElectionConfig::* field) {
    if (given.given(flag)) election.*field = byFlags.*field;
  };
  override("leader-elect", &ElectionConfig::leaderElect);
  override("leader-elect-lease-duration", &ElectionConfig::leaseDuration);
  override("leader-elect-renew-deadline", &ElectionConfig::renewDeadline);
  override("leader-elect-retry-period", &ElectionConfig::retryPeriod);
  override("leader-elect-resource-lock", &ElectionConfig::resourceLock);
  override("leader-elect-resource-name", &ElectionConfig::resourceName);
  override("leader-elect-resource-namespace", &ElectionConfig::resourceNamespace);
}

LeaderElectionOptions electionOptions(const ElectionConfig& election) {
  LeaderElectionOptions options;
  options.leaseNamespace = election.resourceNamespace;
  options.leaseName = election.resourceName;
  options.leaseDuration = election.leaseDuration;
  options.renewDeadline = election.renewDeadline;
  options.retryPeriod = election.retryPeriod;
  return options;
}

}  // namespace koord::kube
