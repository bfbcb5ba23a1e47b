#include "devicedaemon/daemon.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"

namespace koord::devicedaemon {
namespace {

using namespace std::chrono_literals;

constexpr Duration kRetry = 10s;  // after a driver or the file failed

}  // namespace

Daemon::Outcome Daemon::round(SteadyTime now) {
  const auto found = collector_.read(now);
  if (found.cancelled) return {false, Duration::zero()};
  const auto written = file_.write(found.devices);
  if (!written) log::error("{}; next try in 10s", written.error().message);
  log::v(2, "{} devices written to {}", found.devices.size(), file_.path());
  const bool whole = written && !found.failed;
  return {whole, whole ? settings_.interval : std::min(settings_.interval, kRetry)};
}

void Daemon::change(const Settings& settings) {
  if (settings.output != file_.path()) {
    end();
    file_ = DeviceFile(settings.output);
  }
  settings_ = settings;
}

void Daemon::end() {
  if (settings_.oneshot) return;
  if (const auto removed = file_.remove(); !removed) log::warn("{}", removed.error().message);
}

}  // namespace koord::devicedaemon
