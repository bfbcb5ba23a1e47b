#pragma once

// Cron schedules of CronJobs: minute, hour, day of month, month, day of week, each a list of
// numbers, names, ranges and steps; also "@hourly" and similar. A day matches by either of its two
// fields if both are given, else by the given one.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/executor.h"
#include "base/result.h"

namespace koord::cluster {

class CronSchedule {
 public:
  // The time zone is a name of the tz database ("Europe/Berlin"); "" is UTC. Errors say what is
  // wrong with the schedule, or that the zone is unknown.
  static Result<CronSchedule> parse(std::string_view text, const std::string& timeZone = "");

  // The first time after `time`; nullopt if there is none within five years. A wall-clock time that
  // daylight saving time skips does not occur; a repeated time occurs twice.
  std::optional<WallTime> next(WallTime time) const;
  // "2026-03-29T02:30:00+02:00", in the schedule's zone.
  std::string format(WallTime time) const;

 private:
  struct Zone;
  struct Field {
    std::uint64_t bits = 0;
    bool any = false;  // "*"
    bool has(int value) const { return (bits >> value & 1) != 0; }
  };
  static Result<Field> parseField(std::string_view text, int index);
  bool matchesDay(int month, int day, int weekday) const;

  std::array<Field, 5> fields_;  // minute, hour, day of month, month, day of week
  std::shared_ptr<const Zone> zone_;
};

}  // namespace koord::cluster
