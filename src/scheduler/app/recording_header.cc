#include "scheduler/app/recording_header.h"

#include <fmt/format.h>

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

std::int64_t wholeAt(const json::value& document, std::string_view key, std::int64_t otherwise) {
  const json::value* value = find(document, key);
  return value ? wholeNumber(*value).value_or(otherwise) : otherwise;
}

Duration durationAt(const json::value& document, std::string_view key, Duration otherwise) {
  return Duration(wholeAt(document, key, otherwise.count()));
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
  settings.debug.topScores = static_cast<int>(wholeAt(debug, "topScores", 0));
  settings.debug.filterFailures = flagAt(debug, "filterFailures");
  settings.debug.diagnosis = flagAt(debug, "diagnosis");
  settings.debug.diagnosisAtOnce = flagAt(debug, "diagnosisAtOnce");
  settings.debug.diagnosisQueue = static_cast<int>(wholeAt(debug, "diagnosisQueue", 0));
  return settings;
}

std::string versionOfRecording(const json::value& header) {
  return std::string(textAt(header, "version"));
}

}  // namespace koord::scheduler
