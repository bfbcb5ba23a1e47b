#pragma once

// Answers GET /events: events newest first, page by page. A query without a token begins one and holds open the files
// that there were, so rotation neither hides events from it nor shows them twice.

#include <list>
#include <optional>

#include "base/random.h"
#include "koordlet/audit/event_log.h"

namespace koord::koordlet {

// The lines of a file from the last to the first, in pieces of 64 KiB.
class BackwardLines {
 public:
  // The file may grow; lines after the ones that it has now are not seen.
  static Result<BackwardLines> open(const std::string& path);
  BackwardLines(BackwardLines&& other) noexcept;
  BackwardLines& operator=(BackwardLines&& other) noexcept;
  ~BackwardLines();

  // Without its end; nullopt at the beginning of the file. Empty lines are left out.
  std::optional<std::string> next();

 private:
  BackwardLines(int fd, std::int64_t end) : fd_(fd), position_(end) {}

  int fd_ = -1;
  std::int64_t position_ = 0;  // of what has been read
  std::string held_;           // from there on, up to the lines that were given out
};

struct EventPage {
  int status = 200;  // 400 and 409 with the reason in `error`
  std::string error;
  std::vector<std::string> events;  // lines
  std::string nextToken;            // "" at the end
};

class EventQueries {
 public:
  EventQueries(const Clock& clock, EventLog& log, Random random);

  // `size` as given, "" for none; `token` likewise.
  EventPage page(std::string_view size, std::string_view token);
  // Closes what nobody has asked for in ten minutes; call about once a minute.
  void collectGarbage();

 private:
  struct Reader {
    std::string token;
    std::list<BackwardLines> files;  // newest first
    SteadyTime used{};
  };
  void begin();

  const Clock& clock_;
  EventLog& log_;
  Random random_;
  std::list<Reader> readers_;  // oldest first
};

}  // namespace koord::koordlet
