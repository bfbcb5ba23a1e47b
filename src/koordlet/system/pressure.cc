#include "koordlet/system/pressure.h"

#include <fmt/core.h>

#include <charconv>

#include "koordlet/system/cgroup_file.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet {
namespace {

// "avg10=0.25"; the averages are percents.
std::optional<double> averageIn(std::string_view word, std::string_view name) {
  if (!word.starts_with(name)) return std::nullopt;
  word.remove_prefix(name.size());
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || !(value >= 0 && value <= 100))
    return std::nullopt;
  return value;
}

std::optional<StallAverages> averagesIn(std::string_view line) {
  const auto avg10 = averageIn(takeWord(line), "avg10=");
  const auto avg60 = averageIn(takeWord(line), "avg60=");
  const auto avg300 = averageIn(takeWord(line), "avg300=");
  if (!avg10 || !avg60 || !avg300) return std::nullopt;
  return StallAverages{*avg10, *avg60, *avg300};
}

}  // namespace

Result<Pressure> parsePressure(std::string_view text) {
  std::optional<StallAverages> some, full;
  forEachLine(text, [&](std::string_view line) {
    const auto degree = takeWord(line);
    if (degree == "some") some = averagesIn(line);
    if (degree == "full") full = averagesIn(line);
  });
  if (!some) return fail(ErrorCode::Invalid, fmt::format("'{}' is not a pressure", text));
  return Pressure{*some, full};
}

Result<CgroupPressure> readPressure(const CgroupLayout& layout, std::string_view dir) {
  CgroupPressure all;
  for (const auto& [file, into] : {std::pair(CgroupFile::CpuPressure, &all.cpu),
                                   {CgroupFile::MemoryPressure, &all.memory},
                                   {CgroupFile::IoPressure, &all.io}}) {
    const auto path = cgroupFilePath(layout, file, dir);
    if (!path) return fail(path.error());
    const auto text = readSmallFile(*path);
    if (!text) return fail(text.error());
    const auto pressure = parsePressure(*text);
    if (!pressure) return fail(pressure.error().code, *path + ": " + pressure.error().message);
    *into = *pressure;
  }
  return all;
}

}  // namespace koord::koordlet
