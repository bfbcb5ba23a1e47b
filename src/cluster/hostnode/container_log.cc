#include "cluster/hostnode/container_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/time.h"

namespace koord::cluster {

namespace {

// Longer lines are stored in parts, as in containerd.
constexpr std::size_t kLongestPart = 16 * 1024;

struct LogLine {
  std::string_view time;  // "" for a line without the prefix
  std::string_view text;  // with the line break, unless it is a part
  bool partial = false;
};

// "2026-01-02T03:04:05.123456789Z stdout F text\n"
LogLine parseLogLine(std::string_view line) {
  const LogLine plain{{}, line, false};
  const auto blank = line.find(' ');
  if (blank == std::string_view::npos || blank < 20 || line[4] != '-') return plain;
  for (const std::string_view stream : {" stdout ", " stderr "}) {
    if (!line.substr(blank).starts_with(stream)) continue;
    const auto tag = blank + stream.size();
    if (tag + 2 > line.size()) return plain;
    const bool partial = line[tag] == 'P';
    auto text = line.substr(tag + 2);
    if (partial && text.ends_with('\n')) text.remove_suffix(1);
    return {line.substr(0, blank), text, partial};
  }
  return plain;
}

// Removes and returns the first line, with its line break.
std::string_view takeLine(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size() - 1);
  const auto line = text.substr(0, end + 1);
  text.remove_prefix(end + 1);
  return line;
}

std::string_view lastLines(std::string_view log, std::int64_t count) {
  if (count == 0) return {};
  std::size_t start = log.size();
  if (log.ends_with('\n')) --start;
  for (; count > 0; --count) {
    const auto newline = start == 0 ? std::string_view::npos : log.rfind('\n', start - 1);
    if (newline == std::string_view::npos) return log;
    start = newline;
  }
  return log.substr(start + 1);
}

Result<std::optional<std::int64_t>> number(std::string_view name, const std::string& text,
                                           std::int64_t least) {
  if (text.empty()) return std::optional<std::int64_t>();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least)
    return fail(ErrorCode::BadRequest,
                fmt::format("{}: must be a number of at least {}, is {}", name, least, text));
  return std::optional(value);
}

}  // namespace

Result<LogOptions> readLogOptions(const std::function<std::string(std::string_view)>& valueOf,
                                  WallTime now) {
  const auto isTrue = [&](std::string_view name) {
    const auto text = valueOf(name);
    return text == "true" || text == "1";
  };
  LogOptions options;
  options.previous = isTrue("previous");
  options.follow = isTrue("follow");
  options.timestamps = isTrue("timestamps");
  const auto tail = number("tailLines", valueOf("tailLines"), 0);
  const auto limit = number("limitBytes", valueOf("limitBytes"), 1);
  const auto seconds = number("sinceSeconds", valueOf("sinceSeconds"), 1);
  for (const auto* one : {&tail, &limit, &seconds})
    if (!*one) return fail(one->error());
  options.tailLines = *tail;
  options.limitBytes = *limit;
  // Limits the value to a hundred years.
  if (*seconds)
    options.since = now - std::chrono::seconds(std::min<std::int64_t>(**seconds, 3'153'600'000));
  if (const auto text = valueOf("sinceTime"); !text.empty()) {
    const auto time = parseTime(text);
    if (!time) return fail(Error(time.error()).within("sinceTime"));
    options.since = *time;
  }
  return options;
}

LogSelector::LogSelector(const LogOptions& options)
    : timestamps_(options.timestamps), since_(options.since) {
  if (options.limitBytes)
    left_ = static_cast<std::size_t>(std::max<std::int64_t>(*options.limitBytes, 0));
}

std::string LogSelector::select(std::string_view log) {
  std::string out;
  while (!log.empty() && !full()) {
    const LogLine line = parseLogLine(takeLine(log));
    const std::size_t before = out.size();
    if (!inLine_) {
      skipped_ = false;
      if (since_ && !line.time.empty()) {
        const auto time = parseTime(line.time);
        skipped_ = time && *time < *since_;
      }
      if (timestamps_ && !skipped_ && !line.time.empty()) {
        const auto zone = line.time.find("+00:00");
        out += line.time.substr(0, zone);
        out += zone == std::string_view::npos ? " " : "Z ";
      }
    }
    if (!skipped_) out += line.text;
    inLine_ = line.partial;
    if (left_ && out.size() - before > *left_) out.resize(before + *left_);
    if (left_) *left_ -= out.size() - before;
  }
  return out;
}

std::string selectLog(std::string_view log, const LogOptions& options) {
  if (options.tailLines) log = lastLines(log, *options.tailLines);
  return LogSelector(options).select(log);
}

std::size_t wholeLines(std::string_view text) {
  const auto end = text.rfind('\n');
  return end == std::string_view::npos ? 0 : end + 1;
}

std::string LogLines::line(WallTime now, char tag, std::string_view text) const {
  std::string time = formatTime(now);
  time.pop_back();  // the zone, which follows the fraction
  const auto fraction = now - std::chrono::floor<std::chrono::seconds>(now);
  return fmt::format("{}.{:09}Z {} {} {}\n", time, std::chrono::nanoseconds(fraction).count(),
                     stream_, tag, text);
}

std::string LogLines::add(std::string_view bytes, WallTime now) {
  std::string out;
  for (;;) {
    const auto end = bytes.find('\n');
    rest_ += bytes.substr(0, end);
    std::string_view rest = rest_;
    while (rest.size() > kLongestPart) {
      out += line(now, 'P', rest.substr(0, kLongestPart));
      rest.remove_prefix(kLongestPart);
    }
    if (end == std::string_view::npos) {
      rest_ = std::string(rest);
      return out;
    }
    out += line(now, 'F', rest);
    rest_.clear();
    bytes.remove_prefix(end + 1);
  }
}

std::string LogLines::finish(WallTime now) {
  if (rest_.empty()) return {};
  return line(now, 'F', std::exchange(rest_, {}));
}

}  // namespace koord::cluster
