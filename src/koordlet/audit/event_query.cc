#include "koordlet/audit/event_query.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet {
namespace {

constexpr std::int64_t kPiece = 64 * 1024;
constexpr std::size_t kLongestLine = 1 << 20;  // longer lines are not events
constexpr std::int64_t kUsualSize = 256;
constexpr Duration kIdle = std::chrono::minutes(10);

}  // namespace

Result<BackwardLines> BackwardLines::open(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail(errnoError("open " + path, errno));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return fail(errnoError("look at " + path, errno));
  return BackwardLines(std::move(file), status.st_size);
}

std::optional<std::string> BackwardLines::next() {
  for (;;) {
    const auto end = held_.rfind('\n');
    if (end != std::string::npos || (position_ == 0 && !held_.empty())) {
      std::string line = held_.substr(end == std::string::npos ? 0 : end + 1);
      held_.resize(end == std::string::npos ? 0 : end);
      if (!line.empty()) return line;
      continue;
    }
    if (position_ == 0) return std::nullopt;
    if (held_.size() > kLongestLine) held_.clear();
    const auto size = static_cast<std::size_t>(std::min(position_, kPiece));
    std::string piece(size, '\0');
    const auto got =
        ::pread(file_.get(), piece.data(), size, position_ - static_cast<std::int64_t>(size));
    if (got != static_cast<ssize_t>(size)) return std::nullopt;  // the file was truncated
    position_ -= static_cast<std::int64_t>(size);
    held_.insert(0, piece);
  }
}

EventQueries::EventQueries(const Clock& clock, EventLog& log, Random random)
    : clock_(clock), log_(log), random_(std::move(random)) {}

void EventQueries::collectGarbage() {
  const SteadyTime now = clock_.steadyNow();
  std::erase_if(readers_, [&](const Reader& reader) { return now - reader.used > kIdle; });
}

void EventQueries::begin() {
  log_.flush(clock_.wallNow());
  Reader reader;
  reader.token = fmt::format("{:016x}{:016x}", random_.next(), random_.next());
  for (const auto& file : log_.files())
    if (auto lines = BackwardLines::open(file)) reader.files.push_back(*std::move(lines));
  readers_.push_back(std::move(reader));
  while (readers_.size() >
         static_cast<std::size_t>(std::max<std::int64_t>(log_.options().maxReaders, 1)))
    readers_.pop_front();
}

EventPage EventQueries::page(std::string_view size, std::string_view token) {
  collectGarbage();
  if (!log_.options().enabled) return {};
  const std::int64_t wanted = parseInt(size).value_or(kUsualSize);
  if (wanted <= 0) return {400, "size must be positive", {}, ""};
  if (wanted > log_.options().maxEvents)
    return {400, fmt::format("size is at most {}", log_.options().maxEvents), {}, ""};
  if (token.empty()) begin();
  const auto reader = token.empty() ? std::prev(readers_.end())
                                    : std::ranges::find(readers_, token, &Reader::token);
  if (reader == readers_.end())
    return {409, "pageToken is not known, or has expired; ask again without one", {}, ""};
  reader->used = clock_.steadyNow();
  EventPage page;
  // Skips lines that are not events, e.g. after a power failure.
  while (static_cast<std::int64_t>(page.events.size()) < wanted && !reader->files.empty()) {
    auto line = reader->files.front().next();
    if (!line) {
      reader->files.pop_front();
    } else if (const auto event = parseJson(*line); event && event->is_object()) {
      page.events.push_back(*std::move(line));
    }
  }
  if (reader->files.empty()) {
    readers_.erase(reader);
  } else {
    page.nextToken = reader->token;
  }
  return page;
}

}  // namespace koord::koordlet
