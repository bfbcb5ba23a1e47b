#include "devicedaemon/collector.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "base/log.h"
#include "devicedaemon/vendors/reading.h"

namespace koord::devicedaemon {
namespace {

using namespace std::chrono_literals;

// A driver that does not answer for less time may be reloading.
constexpr Duration kPatience = 1min;

std::string foundText(std::string_view vendor, const Reading& reading) {
  std::map<std::string, int> models;
  for (const auto& device : reading.devices) ++models[device.model];
  std::vector<std::string> counts;
  for (const auto& [model, count] : models) counts.push_back(fmt::format("{} x {}", count, model));
  std::string text = fmt::format(
      "{}: found {} ({})", vendor,
      counts.empty() ? "nothing" : fmt::format("{}", fmt::join(counts, ", ")), reading.source);
  for (const auto& problem : reading.problems) text += "; " + problem;
  return text;
}

void makeIll(Found& device, std::string_view code, std::string_view why) {
  device.faultCode = code;
  device.fault = why;
}

}  // namespace

void Collector::tell(Known& known, std::string text, bool bad) {
  if (known.lastLogged == text) return;
  if (bad) {
    log::warn("{}", text);
  } else {
    log::info("{}", text);
  }
  known.lastLogged = std::move(text);
}

// Removes a lost device if another device has its minor now: it was replaced. Readers of the file
// know devices by their minor, so the entry of the lost device would hide the healthy one.
void Collector::forgetReplaced(const Reading& reading, Known& known) {
  std::map<int, std::string_view> living;
  for (const auto& device : reading.devices) living.emplace(device.minor, device.uuid);
  std::erase_if(known.devices, [&](const auto& entry) {
    const auto holder = living.find(entry.second.minor);
    if (holder == living.end() || holder->second == entry.first) return false;
    log::info("{}: device {} was replaced by {}, which has its minor {}", entry.second.vendor,
              entry.first, holder->second, entry.second.minor);
    return true;
  });
}

// Returns false if the driver did not answer.
bool Collector::readVendor(std::string_view name, Known& known, SteadyTime now) {
  const auto vendor = std::ranges::find(vendors(), name, &Vendor::name);
  auto reading = vendor->read(machine_);
  if (machine_.runner->stopping()) return false;  // interrupted: says nothing of the driver
  if (reading)
    if (auto checked = checkFound(reading->devices); !checked)
      reading = fail(std::move(checked.error()).within(reading->source));
  if (!reading) {
    const bool absent = reading.error().code == ErrorCode::NotFound && known.devices.empty();
    tell(known, fmt::format("{}: {}", name, reading.error().message), true);
    if (!known.failingSince) known.failingSince = now;
    if (now - *known.failingSince >= kPatience)
      for (auto& [uuid, device] : known.devices)
        makeIll(device, "DriverUnavailable", reading.error().message);
    return absent;
  }
  known.failingSince.reset();
  for (auto& [uuid, device] : known.devices)
    makeIll(device, "DeviceLost", "the device does not respond");
  for (auto& device : reading->devices) {
    place(machine_, device);
    known.devices[device.uuid] = device;
  }
  forgetReplaced(*reading, known);
  tell(known, foundText(name, *reading), !reading->problems.empty());
  return true;
}

Collector::Round Collector::read(SteadyTime now) {
  std::set<std::string_view> present;
  for (const auto& id : pciIds(machine_))
    for (const auto& vendor : vendors())
      if (vendor.made(id)) present.insert(vendor.name);
  Round round;
  for (const auto& vendor : vendors()) {
    Known& known = known_[vendor.name];
    if (present.contains(vendor.name)) {
      round.failed |= !readVendor(vendor.name, known, now);
      round.cancelled = machine_.runner->stopping();
      if (round.cancelled) return round;
    } else {
      for (auto& [uuid, device] : known.devices)
        makeIll(device, "DeviceLost", "the device is not on the PCI bus");
    }
    std::vector<Found> devices;
    for (const auto& [uuid, device] : known.devices) devices.push_back(device);
    std::ranges::sort(devices, {}, &Found::minor);
    std::ranges::move(devices, std::back_inserter(round.devices));
  }
  if (round.devices.empty() && !reportedNone_)
    log::info("no accelerator of a known vendor was found");
  reportedNone_ = round.devices.empty();
  return round;
}

}  // namespace koord::devicedaemon
