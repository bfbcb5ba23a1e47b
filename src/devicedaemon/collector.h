#pragma once

// All accelerators of this machine, round by round. Each vendor is on its own: one whose driver does not
// answer costs nothing of another.
//
// A device that was seen stays: it is ill when it is not told of any more, and, when its vendor cannot be
// read, from a minute after that began. It goes when another device has its minor. Scheduling must not take a driver that is loaded anew for a
// machine without accelerators.

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
    bool failed = false;         // a vendor's driver did not answer: worth another look soon
    bool cancelled = false;      // the program is to end: the devices are incomplete
  };
  Round read(SteadyTime now);

 private:
  struct Known {
    std::map<std::string, Found> devices;  // by UUID
    std::optional<SteadyTime> failingSince;
    std::string told;  // what was logged last; told again when it changes
  };
  void tell(Known& known, std::string text, bool bad);
  bool readVendor(std::string_view name, Known& known, SteadyTime now);
  static void forgetReplaced(const Reading& reading, Known& known);

  Machine machine_;
  std::map<std::string_view, Known> known_;  // by vendor
  bool toldOfNone_ = false;
};

}  // namespace koord::devicedaemon
