#pragma once

// One round of the daemon: reads the accelerators and writes the file. The caller passes the time
// and waits between rounds.

#include "devicedaemon/collector.h"
#include "devicedaemon/device_file.h"
#include "devicedaemon/settings.h"

namespace koord::devicedaemon {

class Daemon {
 public:
  Daemon(Machine machine, const Settings& settings)
      : collector_(std::move(machine)), settings_(settings), file_(settings.output) {}

  struct Outcome {
    bool whole = true;  // every driver answered and the file is written
    Duration pause{0};  // until the next round
  };
  // A cancelled round leaves the file as it is.
  Outcome round(SteadyTime now);
  // Changes the settings from the next round on. If the file's path differs, removes the old file.
  void change(const Settings& settings);
  // Called at the end. Removes the file, which would become stale; with `oneshot` the file stays.
  void end();

 private:
  Collector collector_;
  Settings settings_;
  DeviceFile file_;
};

}  // namespace koord::devicedaemon
