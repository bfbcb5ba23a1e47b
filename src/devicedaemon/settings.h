#pragma once

// The daemon's settings: from flags, else environment variables, else the configuration file, as in
// upstream.

#include <functional>
#include <string>
#include <string_view>

#include "base/executor.h"
#include "base/result.h"

namespace koord::devicedaemon {

struct Settings {
  bool oneshot = false;
  Duration interval = std::chrono::seconds(900);
  // "": standard output.
  std::string output = "/var/run/koordlet/xpu-device-infos/ic-device";
};

// YAML or JSON: {version: v1, flags: {kdd: {oneshot, sleepInterval, printsOutputFile}}}. An error
// names the field.
Result<> applyFile(std::string_view text, Settings& settings);
// KDD_ONESHOT, KDD_SLEEP_INTERVAL, KDD_PRINTS_OUTPUT_FILE or PRINTS_OUTPUT_FILE; empty ones count
// as unset.
using Environment = std::function<const char*(const char* name)>;
Result<> applyEnvironment(const Environment& environment, Settings& settings);
// The configuration file that the environment names; "" if it names none.
std::string fileNamedBy(const Environment& environment);

Result<> checkSettings(const Settings& settings);

}  // namespace koord::devicedaemon
