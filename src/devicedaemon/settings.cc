#include "devicedaemon/settings.h"

#include <fmt/format.h>

#include <initializer_list>

#include "base/flags/go_values.h"
#include "base/json.h"
#include "base/yaml.h"

namespace koord::devicedaemon {
namespace {

Result<> takeOneshot(std::string_view text, Settings& settings) {
  const auto value = flags::parseBool(text);
  if (!value) return fail(value.error());
  settings.oneshot = *value;
  return {};
}

Result<> takeInterval(std::string_view text, Settings& settings) {
  const auto value = flags::parseTimeSpan(text);
  if (!value) return fail(value.error());
  settings.interval = *value;
  return {};
}

std::string_view firstSet(const Environment& environment,
                          std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* value = environment(name); value && *value) return value;
  return {};
}

}  // namespace

Result<> applyFile(std::string_view text, Settings& settings) {
  const auto document = parseYaml(text);
  if (!document) return fail(document.error());
  const auto version = textAt(*document, "version");
  if (find(*document, "version") && !version.empty() && version != "v1")
    return fail(ErrorCode::Invalid, fmt::format("version: unknown version: {}", version));
  const auto* kdd = at(*document, "flags", "kdd");
  if (!kdd) return {};
  if (const auto* oneshot = find(*kdd, "oneshot"); oneshot && !oneshot->is_null()) {
    if (!oneshot->is_bool()) return fail(ErrorCode::Invalid, "flags.kdd.oneshot: not a boolean");
    settings.oneshot = oneshot->get_bool();
  }
  if (const auto* interval = find(*kdd, "sleepInterval"); interval && !interval->is_null()) {
    auto taken = takeInterval(textAt(*kdd, "sleepInterval"), settings);
    if (!taken) return fail(std::move(taken.error()).within("flags.kdd.sleepInterval"));
  }
  if (const auto* output = find(*kdd, "printsOutputFile"); output && !output->is_null()) {
    if (!output->is_string())
      return fail(ErrorCode::Invalid, "flags.kdd.printsOutputFile: not a text");
    settings.output = textAt(*kdd, "printsOutputFile");
  }
  return {};
}

Result<> applyEnvironment(const Environment& environment, Settings& settings) {
  if (const auto text = firstSet(environment, {"KDD_ONESHOT"}); !text.empty())
    if (auto taken = takeOneshot(text, settings); !taken)
      return fail(std::move(taken.error()).within("KDD_ONESHOT"));
  if (const auto text = firstSet(environment, {"KDD_SLEEP_INTERVAL"}); !text.empty())
    if (auto taken = takeInterval(text, settings); !taken)
      return fail(std::move(taken.error()).within("KDD_SLEEP_INTERVAL"));
  const auto output = firstSet(environment, {"KDD_PRINTS_OUTPUT_FILE", "PRINTS_OUTPUT_FILE"});
  if (!output.empty()) settings.output = output;
  return {};
}

std::string fileNamedBy(const Environment& environment) {
  return std::string(firstSet(environment, {"KDD_CONFIG_FILE", "CONFIG_FILE"}));
}

Result<> checkSettings(const Settings& settings) {
  if (settings.interval > Duration::zero()) return {};
  return fail(ErrorCode::Invalid, "sleep-interval: must be greater than 0");
}

}  // namespace koord::devicedaemon
