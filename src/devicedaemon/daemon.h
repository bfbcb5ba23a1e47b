#pragma once

// One round of the daemon: accelerators are read and the file is written. Time is handed in; the
// program waits between rounds.

#include "devicedaemon/collector.h"
#include "devicedaemon/device_file.h"
#include "devicedaemon/settings.h"

namespace koord::devicedaemon {

class Daemon {
 public:
  Daemon(Machine machine, const Settings& settings)
      : collector_(std::move(machine)), settings_(settings), file_(settings.output) {}

  struct Outcome {
    bool whole = true;  // every driver answered and the file is there
    Duration pause{0};  // until the next round
  };
  // One that is cancelled leaves the file as it is.
  Outcome round(SteadyTime now);
  // Other settings from the next round on; a file elsewhere takes the place of the old one.
  void change(const Settings& settings);
  // Nobody keeps the file current from here on. One that was asked for once stays.
  void end();

 private:
  Collector collector_;
  Settings settings_;
  DeviceFile file_;
};

}  // namespace koord::devicedaemon
