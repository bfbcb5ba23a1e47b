// Time zones of the system: files of /usr/share/zoneinfo in the format TZif (RFC 8536). A file
// lists the times at which the offset changes; its last line is a rule
// ("CET-1CEST,M3.5.0,M10.5.0/3") for all times after them. The lists of common systems reach to
// 2037; for later times the offsets repeat those of the same day 400 years or fewer before, because
// the calendar has that period.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cel/time_text.h"

namespace koord::cel {

namespace {

struct ZoneTable {
  std::vector<std::int64_t> times;
  std::vector<std::int64_t> offsets;  // from the time of the same index on
  std::int64_t first = 0;             // before all times
};

std::int64_t bigEndian(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = static_cast<signed char>(bytes[at]) < 0 ? ~std::uint64_t{0} : 0;
  for (std::size_t i = 0; i < count; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return static_cast<std::int64_t>(value);
}

struct ZoneHeader {
  std::size_t utc, standard, leaps, times, types, letters;
  std::size_t bytes(std::size_t width) const {
    return times * (width + 1) + types * 6 + letters + leaps * (width + 4) + standard + utc;
  }
};
constexpr std::size_t kHeader = 44;

std::optional<ZoneHeader> headerAt(std::string_view file, std::size_t at) {
  if (file.size() < at + kHeader || file.substr(at, 4) != "TZif") return std::nullopt;
  const auto count = [&](std::size_t index) {
    return static_cast<std::size_t>(bigEndian(file, at + 20 + 4 * index, 4));
  };
  ZoneHeader header{count(0), count(1), count(2), count(3), count(4), count(5)};
  for (const std::size_t size :
       {header.utc, header.leaps, header.times, header.types, header.letters})
    if (size > file.size()) return std::nullopt;
  return header;
}

std::optional<ZoneTable> readZone(std::string_view file) {
  const auto old = headerAt(file, 0);
  if (!old || file[4] < '2') return std::nullopt;
  const std::size_t start = kHeader + old->bytes(4);
  const auto header = headerAt(file, start);
  std::size_t at = start + kHeader;
  if (!header || header->types == 0 || file.size() < at + header->bytes(8)) return std::nullopt;
  ZoneTable table;
  const std::size_t kinds = at + header->times * 8, types = kinds + header->times;
  const auto offsetOf = [&](std::size_t type) { return bigEndian(file, types + type * 6, 4); };
  table.first = offsetOf(0);
  for (std::size_t i = 0; i < header->times; ++i) {
    const auto type = static_cast<unsigned char>(file[kinds + i]);
    if (type >= header->types) return std::nullopt;
    table.times.push_back(bigEndian(file, at + i * 8, 8));
    table.offsets.push_back(offsetOf(type));
  }
  return table;
}

bool isZoneName(std::string_view name) {
  if (name.empty() || name.size() > 64 || name.front() == '/' || name.front() == '.') return false;
  const auto allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '/' || c == '_' || c == '-' ||
           c == '+';
  };
  return std::all_of(name.begin(), name.end(), allowed);
}

// Tables are read once and kept.
const ZoneTable* zoneTable(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const ZoneTable>, std::less<>> tables;
  if (!isZoneName(name)) return nullptr;
  const std::scoped_lock lock(mutex);
  const auto known = tables.find(name);
  if (known != tables.end()) return known->second.get();
  std::ifstream in("/usr/share/zoneinfo/" + std::string(name), std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  auto table = readZone(file);
  if (!table) return nullptr;  // names that do not exist are not kept: there is no end of them
  return (tables[std::string(name)] = std::make_unique<const ZoneTable>(*std::move(table))).get();
}

std::int64_t offsetAt(const ZoneTable& table, std::int64_t seconds) {
  constexpr std::int64_t kPeriod = 146'097LL * 86'400;  // 400 years
  constexpr std::int64_t kYears28 = 10'227LL * 86'400;  // the same weekdays, within a century
  if (!table.times.empty() && seconds > table.times.back() && table.times.back() > 2'000'000'000) {
    seconds -= (seconds - table.times.back()) / kPeriod * kPeriod;
    while (seconds > table.times.back()) seconds -= kYears28;
  }
  const auto after = std::upper_bound(table.times.begin(), table.times.end(), seconds);
  if (after == table.times.begin()) return table.first;
  return table.offsets[static_cast<std::size_t>(after - table.times.begin() - 1)];
}

// "+01:30", "-08:00", "01:30".
std::optional<std::int64_t> fixedOffset(std::string_view zone) {
  const bool negative = zone.starts_with('-');
  if (negative || zone.starts_with('+')) zone.remove_prefix(1);
  int hours = 0, minutes = 0;
  const char* end = zone.data() + zone.size();
  const auto first = std::from_chars(zone.data(), end, hours);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ':') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, minutes);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  const std::int64_t seconds = hours * 3600LL + minutes * 60LL;
  return negative ? -seconds : seconds;
}

}  // namespace

Result<std::int64_t> offsetOfZone(std::string_view zone, Timestamp time) {
  if (zone.empty() || zone == "UTC" || zone == "Z") return 0;
  if (zone.find(':') != std::string_view::npos) {
    if (const auto offset = fixedOffset(zone)) return *offset;
  } else if (const ZoneTable* table = zoneTable(zone)) {
    return offsetAt(*table, time.seconds);
  }
  return fail(ErrorCode::BadRequest, fmt::format("unknown time zone {}", zone));
}

}  // namespace koord::cel
