#include "descheduler/migration/args.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "api/codec.h"
#include "api/selector.h"
#include "base/time.h"

namespace koord::descheduler {

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
constexpr std::string_view kGates[] = {"PVC",
                                       "BarePods",
                                       "LocalStorage",
                                       "SystemCritical",
                                       "PriorityThreshold",
                                       "LabelSelector",
                                       "Namespaces",
                                       "NodeFit",
                                       "MaxMigratingGlobally",
                                       "MaxMigratingPerNode",
                                       "MaxMigratingPerNamespace",
                                       "MaxMigratingPerWorkload",
                                       "MaxUnavailablePerWorkload",
                                       "ExpectedReplicas"};

std::optional<NumberOrPercent> readLimit(Fields& fields, std::string_view name) {
  const json::value* value = fields.raw(name);
  if (!value) return std::nullopt;
  auto limit = numberOrPercentOf(*value);
  if (!limit) {
    fields.error(name, "must be an integer or a percentage such as \"10%\"");
  } else if (limit->number < 0) {
    fields.error(name, "must not be negative");
  }
  return limit;
}

void readEvictor(Fields& fields, MigrationControllerArgs& args) {
  EvictorFilter& evictor = args.evictor;
  evictor.evictFailedBarePods = fields.boolean("evictFailedBarePods", false);
  evictor.evictAllBarePods = fields.boolean("evictAllBarePods", false);
  evictor.evictLocalStoragePods = fields.boolean("evictLocalStoragePods", false);
  evictor.evictSystemCriticalPods = fields.boolean("evictSystemCriticalPods", false);
  evictor.ignorePvcPods = fields.boolean("ignorePvcPods", false);
  if (fields.has("priorityThreshold")) {
    Fields threshold = fields.object("priorityThreshold");
    args.priorityName = threshold.text("name");
    if (threshold.has("value"))
      args.priorityValue = threshold.integer("value", 0, std::numeric_limits<std::int32_t>::min(),
                                             kSystemCriticalPriority);
    if (args.priorityValue && !args.priorityName.empty())
      threshold.error("name", "must not be set together with value");
    threshold.refuseUnknown();
  }
  if (const json::value* selector = fields.raw("labelSelector")) {
    auto decoded = api::decode<api::LabelSelector>(*selector, api::Reading::Strict);
    auto compiled = decoded ? api::Selector::compile(*decoded)
                            : Result<api::Selector>(fail(std::move(decoded.error())));
    if (!compiled) {
      fields.error("labelSelector", compiled.error().message);
    } else if (!compiled->empty()) {
      evictor.labelSelector = *std::move(compiled);
      args.labelSelector = *selector;
    }
  }
}

// Applies skipped gates to the arguments that they control.
void applyGates(Fields& fields, MigrationControllerArgs& args) {
  for (const std::string& gate : fields.texts("skipEvictionGates")) {
    if (std::ranges::find(kGates, gate) == std::end(kGates))
      fields.error("skipEvictionGates",
                   fmt::format("unknown gate \"{}\"; known are {}", gate, fmt::join(kGates, ", ")));
    args.skipGates.insert(gate);
  }
  EvictorFilter& evictor = args.evictor;
  if (args.skips("PVC")) evictor.ignorePvcPods = false;
  if (args.skips("BarePods")) evictor.evictFailedBarePods = evictor.evictAllBarePods = true;
  if (args.skips("LocalStorage")) evictor.evictLocalStoragePods = true;
  if (args.skips("SystemCritical")) evictor.evictSystemCriticalPods = true;
  if (args.skips("PriorityThreshold")) {
    args.priorityValue.reset();
    args.priorityName.clear();
  }
  if (args.skips("LabelSelector")) {
    evictor.labelSelector.reset();
    args.labelSelector = nullptr;
  }
  if (args.skips("Namespaces")) args.namespaces = {};
  if (args.skips("NodeFit")) args.nodeFit = false;
  if (args.skips("ExpectedReplicas")) args.skipCheckExpectedReplicas = true;
}

void readLimits(Fields& fields, MigrationControllerArgs& args) {
  args.maxMigratingGlobally = fields.integer("maxMigratingGlobally", 0, 0, kMost);
  args.maxMigratingPerNode = fields.integer("maxMigratingPerNode", 2, 0, kMost);
  args.maxMigratingPerNamespace = fields.integer("maxMigratingPerNamespace", 0, 0, kMost);
  args.maxArrivingPerNode = fields.integer("maxArrivingPerNode", 0, 0, kMost);
  args.maxMigratingPerWorkload = readLimit(fields, "maxMigratingPerWorkload");
  args.maxUnavailablePerWorkload = readLimit(fields, "maxUnavailablePerWorkload");
  args.skipCheckExpectedReplicas = fields.boolean("skipCheckExpectedReplicas", false);
  if (!fields.has("objectLimiters")) {
    args.objectLimiters["workload"] = {.duration = std::chrono::minutes(5)};
    return;
  }
  for (auto& [name, limit] : fields.objects("objectLimiters")) {
    if (name != "workload" && name != "namespace" && name != "cluster")
      fields.error("objectLimiters",
                   fmt::format("must be workload, namespace or cluster, not \"{}\"", name));
    ObjectLimit& out = args.objectLimiters[name];
    out.duration = limit.duration("duration", {});
    if (out.duration < Duration::zero()) limit.error("duration", "must not be negative");
    out.maxMigrating = readLimit(limit, "maxMigrating");
    out.burst = limit.integer("burst", 0, 0, kMost);
    if (name != "workload" &&
        (!out.maxMigrating || out.maxMigrating->percent || out.maxMigrating->number < 1))
      limit.error("maxMigrating",
                  fmt::format("of a {} must be an integer of at least 1: only workloads have a "
                              "number of replicas to take a percentage of",
                              name));
    limit.refuseUnknown();
  }
}

// Checks meta/v1 DeleteOptions: the API server would refuse every eviction with invalid ones.
void checkDeleteOptions(Fields options) {
  options.text("apiVersion");
  options.text("kind");
  options.integer("gracePeriodSeconds", 0, 0, std::numeric_limits<std::int64_t>::max());
  options.boolean("orphanDependents", false);
  options.boolean("ignoreStoreReadErrorWithClusterBreakingPotential", false);
  const std::string propagation = options.text("propagationPolicy", "Background");
  if (propagation != "Orphan" && propagation != "Background" && propagation != "Foreground")
    options.error("propagationPolicy", "must be Orphan, Background or Foreground");
  for (const std::string& stage : options.texts("dryRun"))
    if (stage != "All") options.error("dryRun", "must be All");
  if (options.has("preconditions")) {
    Fields conditions = options.object("preconditions");
    conditions.text("uid");
    conditions.text("resourceVersion");
    conditions.refuseUnknown();
  }
  options.refuseUnknown();
}

double readQps(Fields& fields) {
  const json::value* value = fields.raw("evictQPS");
  if (!value) return 10;
  double qps = 0;
  if (const auto number = realNumber(*value)) {
    qps = *number;
  } else if (value->is_string()) {
    const std::string_view text = value->get_string();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), qps);
    if (error != std::errc{} || end != text.data() + text.size()) qps = 0;
  }
  if (!(qps > 0)) fields.error("evictQPS", "must be a number greater than 0");
  return qps;
}

void readJobs(Fields& fields, MigrationControllerArgs& args) {
  args.defaultJobMode = fields.text("defaultJobMode", "ReservationFirst");
  if (args.defaultJobMode != "ReservationFirst" && args.defaultJobMode != "EvictDirectly")
    fields.error("defaultJobMode", "must be ReservationFirst or EvictDirectly");
  args.defaultJobTTL = fields.duration("defaultJobTTL", std::chrono::minutes(5));
  if (args.defaultJobTTL < Duration::zero()) fields.error("defaultJobTTL", "must not be negative");
  if (fields.has("schedulerNames")) {
    args.schedulerNames = fields.texts("schedulerNames");
    if (args.schedulerNames.empty())
      fields.error("schedulerNames", "must name at least one scheduler");
  }
  args.evictQPS = readQps(fields);
  args.evictBurst = fields.integer("evictBurst", 1, 1, kMost);
  args.evictionPolicy = fields.text("evictionPolicy", "Eviction");
  if (args.evictionPolicy != "Eviction" && args.evictionPolicy != "Delete" &&
      args.evictionPolicy != "SoftEviction")
    fields.error("evictionPolicy", "must be Eviction, Delete or SoftEviction");
  if (fields.has("defaultDeleteOptions")) checkDeleteOptions(fields.object("defaultDeleteOptions"));
  if (const json::value* options = fields.raw("defaultDeleteOptions"))
    args.defaultDeleteOptions = *options;
  if (fields.has("arbitrationArgs")) {
    Fields arbitration = fields.object("arbitrationArgs");
    args.arbitration = arbitration.boolean("enabled", true);
    args.arbitrationInterval = arbitration.duration("interval", std::chrono::milliseconds(500));
    if (args.arbitrationInterval <= Duration::zero())
      arbitration.error("interval", "must be greater than 0");
    arbitration.refuseUnknown();
  }
}

void readLanding(Fields& fields, LandingArgs& args) {
  if (!fields.has("landing")) return;
  Fields landing = fields.object("landing");
  args.enabled = landing.boolean("enabled", true);
  args.schedulerURL = landing.text("schedulerURL");
  if (!args.schedulerURL.empty() && !args.schedulerURL.starts_with("http://") &&
      !args.schedulerURL.starts_with("https://"))
    landing.error("schedulerURL", "must begin with http:// or https://");
  args.leaseNamespace = landing.text("leaseNamespace", args.leaseNamespace);
  args.leaseName = landing.text("leaseName", args.leaseName);
  args.port = landing.integer("port", args.port, 1, 65535);
  args.caFile = landing.text("caFile");
  args.noReturnPeriod = landing.duration("noReturnPeriod", args.noReturnPeriod);
  if (args.noReturnPeriod < Duration::zero())
    landing.error("noReturnPeriod", "must not be negative");
  landing.refuseUnknown();
}

template <class T>
json::array textsOf(const T& texts) {
  json::array list;
  for (const std::string& text : texts) list.push_back(json::string(text));
  return list;
}

void addLimits(const MigrationControllerArgs& args, json::object& out) {
  if (args.maxMigratingGlobally > 0) out["maxMigratingGlobally"] = args.maxMigratingGlobally;
  out["maxMigratingPerNode"] = args.maxMigratingPerNode;
  if (args.maxMigratingPerNamespace > 0)
    out["maxMigratingPerNamespace"] = args.maxMigratingPerNamespace;
  if (args.maxArrivingPerNode > 0) out["maxArrivingPerNode"] = args.maxArrivingPerNode;
  if (args.maxMigratingPerWorkload)
    out["maxMigratingPerWorkload"] = documentOf(*args.maxMigratingPerWorkload);
  if (args.maxUnavailablePerWorkload)
    out["maxUnavailablePerWorkload"] = documentOf(*args.maxUnavailablePerWorkload);
  out["skipCheckExpectedReplicas"] = args.skipCheckExpectedReplicas;
  json::object limiters;
  for (const auto& [name, limit] : args.objectLimiters) {
    json::object entry{{"duration", formatDuration(limit.duration)}};
    if (limit.maxMigrating) entry["maxMigrating"] = documentOf(*limit.maxMigrating);
    if (limit.burst > 0) entry["burst"] = limit.burst;
    limiters[name] = std::move(entry);
  }
  out["objectLimiters"] = std::move(limiters);
}

}  // namespace

MigrationControllerArgs MigrationControllerArgs::read(Fields& fields) {
  MigrationControllerArgs args;
  args.dryRun = fields.boolean("dryRun", false);
  args.maxConcurrentReconciles = fields.integer("maxConcurrentReconciles", 1, 1, 1000);
  readEvictor(fields, args);
  args.namespaces = Namespaces::read(fields, "namespaces");
  args.nodeFit = fields.boolean("nodeFit", false);
  args.nodeSelector = fields.text("nodeSelector");
  if (const auto parsed = api::Selector::parse(args.nodeSelector); !parsed)
    fields.error("nodeSelector", parsed.error().message);
  readLimits(fields, args);
  readJobs(fields, args);
  readLanding(fields, args.landing);
  applyGates(fields, args);
  if (args.priorityValue)
    args.evictor.priorityThreshold = static_cast<std::int32_t>(*args.priorityValue);
  return args;
}

json::object MigrationControllerArgs::document() const {
  json::object out{{"dryRun", dryRun},
                   {"maxConcurrentReconciles", maxConcurrentReconciles},
                   {"evictFailedBarePods", evictor.evictFailedBarePods},
                   {"evictAllBarePods", evictor.evictAllBarePods},
                   {"evictLocalStoragePods", evictor.evictLocalStoragePods},
                   {"evictSystemCriticalPods", evictor.evictSystemCriticalPods},
                   {"ignorePvcPods", evictor.ignorePvcPods},
                   {"nodeFit", nodeFit}};
  if (priorityValue) out["priorityThreshold"] = json::object{{"value", *priorityValue}};
  if (!priorityName.empty()) out["priorityThreshold"] = json::object{{"name", priorityName}};
  if (json::value names = namespaces.document(); !names.is_null()) out["namespaces"] = names;
  if (!labelSelector.is_null()) out["labelSelector"] = labelSelector;
  if (!nodeSelector.empty()) out["nodeSelector"] = nodeSelector;
  if (!skipGates.empty()) out["skipEvictionGates"] = textsOf(skipGates);
  addLimits(*this, out);
  out["defaultJobMode"] = defaultJobMode;
  out["defaultJobTTL"] = formatDuration(defaultJobTTL);
  out["schedulerNames"] = textsOf(schedulerNames);
  out["evictQPS"] = evictQPS;
  out["evictBurst"] = evictBurst;
  out["evictionPolicy"] = evictionPolicy;
  if (!defaultDeleteOptions.is_null()) out["defaultDeleteOptions"] = defaultDeleteOptions;
  out["arbitrationArgs"] =
      json::object{{"enabled", arbitration}, {"interval", formatDuration(arbitrationInterval)}};
  json::object document{{"enabled", landing.enabled},
                        {"leaseNamespace", landing.leaseNamespace},
                        {"leaseName", landing.leaseName},
                        {"port", landing.port},
                        {"noReturnPeriod", formatDuration(landing.noReturnPeriod)}};
  if (!landing.caFile.empty()) document["caFile"] = landing.caFile;
  if (!landing.schedulerURL.empty()) document["schedulerURL"] = landing.schedulerURL;
  out["landing"] = std::move(document);
  return out;
}

}  // namespace koord::descheduler
