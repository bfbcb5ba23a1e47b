#pragma once

// Collects all accelerators of this node, in rounds. Vendors are independent: a driver that does
// not answer does not affect another vendor's devices.
//
// A device that was found once stays until another device has its minor. It is faulty if its vendor
// does not report it, and if its vendor cannot be read for a minute. Scheduling must not take a
// reloading driver for a node without accelerators.

#include <map>
#include <string>
#include <vector>

#include "devicedaemon/machine.h"

namespace koord::devicedaemon {

struct Reading;

class Collector {
 public:
  explicit Collector(Machine machine) : machine_(std::move(machine)) {}

  struct Round {
    std::vector<Found> devices;  // by vendor and minor
    bool failed = false;         // a vendor's driver did not answer: read again soon
    bool cancelled = false;      // the program is stopping: the devices are incomplete
  };
  Round read(SteadyTime now);

 private:
  struct Known {
    std::map<std::string, Found> devices;  // by UUID
    std::optional<SteadyTime> failingSince;
    std::string lastLogged;  // last logged text; logged again when it changes
  };
  void tell(Known& known, std::string text, bool bad);
  bool readVendor(std::string_view name, Known& known, SteadyTime now);
  static void forgetReplaced(const Reading& reading, Known& known);

  Machine machine_;
  std::map<std::string_view, Known> known_;  // by vendor
  bool reportedNone_ = false;
};

}  // namespace koord::devicedaemon
