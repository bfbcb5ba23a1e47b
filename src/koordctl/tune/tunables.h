#pragma once

// What `koordctl tune` may change: settings of the ConfigMap slo-controller-config, and the filter
// of koord-scheduler by load. Each has a range and a step.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "koordctl/colocation/arm.h"

namespace koord::koordctl {

struct Tunable {
  std::string_view name;     // of the field
  std::string_view section;  // the key of the ConfigMap; "" = koord-scheduler's configuration
  std::int64_t low, high, step;
  std::string_view meaning;
  // nullopt: the configuration has no such setting, or it is off.
  std::optional<std::int64_t> (*get)(const colocation::Arm& arm);
  void (*set)(colocation::Arm& arm, std::int64_t value);
};

// In the order of reports.
std::span<const Tunable> tunables();

// A direction of the search: these tunables by that many steps.
struct Direction {
  struct Part {
    std::size_t tunable;
    int steps;
  };
  std::span<const Part> parts;
};
std::span<const Direction> directions();

// The arm with the values moved; nullopt if one has no value or goes beyond its range, or if
// koord-manager would refuse them.
std::optional<colocation::Arm> moved(const colocation::Arm& arm, const Direction& direction,
                                     int sign);

}  // namespace koord::koordctl
