#include "scheduler/app/recording_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace koord::scheduler {

namespace {

json::array namesIn(const auto& names) {
  json::array array;
  for (const auto& name : names) array.push_back(json::string(name));
  return array;
}

std::vector<std::string> namesOf(const json::value& document, std::string_view key) {
  std::vector<std::string> names;
  const json::value* array = find(document, key);
  if (!array || !array->is_array()) return names;
  for (const json::value& name : array->get_array())
    if (name.is_string()) names.emplace_back(name.get_string());
  return names;
}

// Numbers that may use all 64 bits are texts: JSON tools read them as doubles.
std::uint64_t numberOf(const json::value& document, std::string_view key) {
  std::uint64_t number = 0;
  for (const char c : textAt(document, key)) {
    if (c < '0' || c > '9') return 0;
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return number;
}

// The header may be hostile: a number outside of the range counts as its nearest end.
std::int64_t wholeAt(const json::value& document, std::string_view key, std::int64_t otherwise,
                     std::int64_t highest) {
  const json::value* value = find(document, key);
  const std::int64_t number = value ? wholeNumber(*value).value_or(otherwise) : otherwise;
  return std::clamp<std::int64_t>(number, 0, highest);
}

// At most 29 years, so that sums with readings of clocks stay in range.
Duration durationAt(const json::value& document, std::string_view key, Duration otherwise) {
  constexpr Duration kLongest = std::chrono::hours(24 * 365 * 29);
  return Duration(wholeAt(document, key, otherwise.count(), kLongest.count()));
}

int countAt(const json::value& document, std::string_view key) {
  return static_cast<int>(wholeAt(document, key, 0, std::numeric_limits<int>::max()));
}

bool flagAt(const json::value& document, std::string_view key) {
  const json::value* value = find(document, key);
  return value && value->is_bool() && value->get_bool();
}

}  // namespace

json::value recordingHeader(const InstanceSettings& settings, const std::string& version) {
  const SchedulerOptions& options = settings.scheduler;
  return json::object{
      {"program", "koord-scheduler"},
      {"version", version},
      {"seed", std::to_string(options.seed)},
      {"instanceSeed", std::to_string(settings.seed)},
      {"maxUnschedulableNanoseconds", options.maxUnschedulable.count()},
      {"monitorPeriodNanoseconds", options.monitor.period.count()},
      {"monitorTimeoutNanoseconds", options.monitor.timeout.count()},
      {"controllerPlugins", namesIn(options.controllerPlugins)},
      {"gates", namesIn(options.gates)},
      {"barrier",
       {{"enabled", settings.barrier.enabled},
        {"namespace", settings.barrier.pod.namespace_},
        {"name", settings.barrier.pod.name},
        {"timeoutNanoseconds", settings.barrier.timeout.count()}}},
      {"debug",
       {{"topScores", settings.debug.topScores},
        {"filterFailures", settings.debug.filterFailures},
        {"diagnosis", settings.debug.diagnosis},
        {"diagnosisAtOnce", settings.debug.diagnosisAtOnce},
        {"diagnosisQueue", settings.debug.diagnosisQueue}}},
      {"configuration", configurationDocument(options.configuration, Secrets::LeftOut)}};
}

Result<InstanceSettings> readRecordingHeader(const json::value& header) {
  InstanceSettings settings;
  SchedulerOptions& options = settings.scheduler;
  auto configuration = parseConfiguration(toJson(memberOf(header, "configuration")));
  if (!configuration)
    return fail(std::move(configuration.error()).within("the recorded configuration"));
  if (const auto errors = validate(*configuration); !errors.empty())
    return fail(ErrorCode::Invalid, "the recorded configuration: " + errors.front());
  if (configuration->profiles.empty())
    return fail(ErrorCode::Invalid, "the recorded configuration has no profiles");
  options.configuration = *std::move(configuration);
  for (ExtenderConfig& extender : options.configuration.extenders) extender.tls = {};
  options.seed = numberOf(header, "seed");
  settings.seed = numberOf(header, "instanceSeed");
  options.maxUnschedulable =
      durationAt(header, "maxUnschedulableNanoseconds", options.maxUnschedulable);
  options.monitor.period = durationAt(header, "monitorPeriodNanoseconds", options.monitor.period);
  options.monitor.timeout =
      durationAt(header, "monitorTimeoutNanoseconds", options.monitor.timeout);
  options.controllerPlugins = namesOf(header, "controllerPlugins");
  const auto gates = namesOf(header, "gates");
  options.gates = {gates.begin(), gates.end()};
  const json::value& barrier = memberOf(header, "barrier");
  settings.barrier.enabled = flagAt(barrier, "enabled");
  settings.barrier.pod = {std::string(textAt(barrier, "namespace")),
                          std::string(textAt(barrier, "name"))};
  settings.barrier.timeout = durationAt(barrier, "timeoutNanoseconds", settings.barrier.timeout);
  const json::value& debug = memberOf(header, "debug");
  settings.debug.topScores = countAt(debug, "topScores");
  settings.debug.filterFailures = flagAt(debug, "filterFailures");
  settings.debug.diagnosis = flagAt(debug, "diagnosis");
  settings.debug.diagnosisAtOnce = flagAt(debug, "diagnosisAtOnce");
  settings.debug.diagnosisQueue = countAt(debug, "diagnosisQueue");
  return settings;
}

std::string versionOfRecording(const json::value& header) {
  return std::string(textAt(header, "version"));
}

}  // namespace koord::scheduler
