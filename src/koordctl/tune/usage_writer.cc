#include "koordctl/tune/usage_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "koordctl/tune/usage_record.h"
#include "model/resources.h"

namespace koord::koordctl {

namespace {

std::unexpected<Error> failed(const std::string& file) {
  return fail(ErrorCode::Internal, fmt::format("{}: {}", file, std::strerror(errno)));
}

// True for what may stand between two commas. A node reports what it likes.
bool isField(std::string_view text) {
  return !text.empty() &&
         std::ranges::none_of(text, [](unsigned char c) { return c <= ' ' || c == ','; });
}

// Removes an unfinished last line of a file of at least one byte.
Result<> trim(std::FILE* file, const std::string& name) {
  const std::string header = std::string(kUsageHeader) + "\n";
  std::string first(header.size(), '\0');
  std::rewind(file);
  first.resize(std::fread(first.data(), 1, first.size(), file));
  if (first != header.substr(0, first.size()))
    return fail(ErrorCode::Invalid,
                fmt::format("{}: the file exists, and it is not a record of usage", name));
  std::fseek(file, 0, SEEK_END);
  long end = std::ftell(file);
  for (; end > 0; --end) {
    std::fseek(file, end - 1, SEEK_SET);
    if (std::fgetc(file) == '\n') break;
  }
  std::error_code error;
  std::filesystem::resize_file(name, static_cast<std::uintmax_t>(end), error);
  if (error) return fail(ErrorCode::Internal, fmt::format("{}: {}", name, error.message()));
  std::fseek(file, 0, SEEK_END);
  return {};
}

}  // namespace

Result<UsageWriter> UsageWriter::open(const std::string& name) {
  std::FILE* const file = std::fopen(name.c_str(), "a+e");
  if (!file) return failed(name);
  UsageWriter writer(name, file);
  std::fseek(file, 0, SEEK_END);
  if (std::ftell(file) > 0)
    if (auto trimmed = trim(file, name); !trimmed) return fail(std::move(trimmed.error()));
  if (std::ftell(file) == 0 && std::fprintf(file, "%s\n", kUsageHeader) < 0) return failed(name);
  if (std::fflush(file) != 0) return failed(name);
  return writer;
}

Result<> UsageWriter::add(const api::NodeMetric& metric) {
  if (!metric.status.updateTime) return {};
  const std::int64_t time =
      std::chrono::floor<std::chrono::seconds>(metric.status.updateTime->time_since_epoch())
          .count();
  // A clock may go back: only the same report again is known.
  const auto [last, added] = last_.try_emplace(metric.metadata.name, time);
  if (!added && last->second == time) return {};
  last->second = time;
  std::string lines;
  for (const api::PodMetricInfo& pod : metric.status.podsMetric) {
    const auto& used = pod.podUsage.resources;
    if (!isField(pod.namespace_) || !isField(pod.name)) continue;
    lines += usageLine(time, {pod.namespace_, pod.name},
                       std::max<std::int64_t>(model::amountOf(used, "cpu").milliValue(), 0),
                       std::max<std::int64_t>(model::amountOf(used, "memory").value(), 0));
    ++samples_;
  }
  // A whole report at once: a reader of the file sees all of it or, after a crash, a part.
  if (std::fwrite(lines.data(), 1, lines.size(), file_.get()) != lines.size() ||
      std::fflush(file_.get()) != 0)
    return failed(name_);
  return {};
}

}  // namespace koord::koordctl
