#pragma once

// Answers GET /events: events newest first, page by page. A request without a token begins a query,
// which keeps its files open, so that rotation neither hides events from it nor shows them twice.

#include <list>
#include <optional>

#include "base/fd.h"
#include "base/random.h"
#include "koordlet/audit/event_log.h"

namespace koord::koordlet {

// The lines of a file from the last to the first, in pieces of 64 KiB.
class BackwardLines {
 public:
  // The file may grow; lines that are added after open() are not read.
  static Result<BackwardLines> open(const std::string& path);

  // The next line without its line end; nullopt at the beginning of the file. Skips empty lines.
  std::optional<std::string> next();

 private:
  BackwardLines(Fd file, std::int64_t end) : file_(std::move(file)), position_(end) {}

  Fd file_;
  std::int64_t position_ = 0;  // the file is read from here to the end
  std::string held_;           // the bytes from position_ up to the lines already returned
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

  // `size` and `token` as in the request; "" if absent.
  EventPage page(std::string_view size, std::string_view token);
  // Closes queries without a request in the last ten minutes. Call it about once a minute.
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
