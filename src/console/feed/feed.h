#pragma once

// Sends tables to browsers as server-sent events: first all rows, then the changes.
//
//   event: status   what the page must know of the console itself; every few seconds
//   event: rows     {"t": "pods", "reset": true, "rows": [[...], ...], "gone": ["ns/name", ...]}
//   event: synced   every table has been sent once
//
// The id of an event names how far each table has been read. A browser that lost the connection
// passes it in `since` and receives what has changed in between. Changes are collected for a fifth
// of a second. A browser that does not read receives nothing until it has taken what was sent, and
// then the latest state. One executor.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "base/json.h"
#include "base/task.h"
#include "console/feed/table.h"
#include "net/http_server.h"

namespace koord::console {

class Feed {
 public:
  using Tables = std::vector<std::unique_ptr<Table>>;

  // The tables may be added to until the first open().
  Feed(Executor& executor, const Tables& tables, std::function<json::value()> status,
       std::string epoch);
  ~Feed();

  // Begins and continues the answer.
  void open(std::shared_ptr<net::Responder> responder, std::string_view since);
  // Sends what has changed, soon.
  void changed();
  // Sends the status now.
  void sendStatus();
  std::size_t readers() const { return readers_.size(); }

 private:
  struct Reader;
  void flush();
  void flushSoon(Duration delay);
  // Returns false if the reader must first take what was sent.
  bool fill(Reader& reader);
  bool send(Reader& reader, std::size_t table);
  std::vector<ChangeLog::Number> positionsOf(std::string_view since) const;
  std::string idOf(const Reader& reader) const;
  Task<void> beat();

  Executor& executor_;
  const Tables& tables_;
  const std::function<json::value()> status_;
  const std::string epoch_;  // of this process: positions of another one mean nothing
  std::vector<std::shared_ptr<Reader>> readers_;
  TimerId timer_ = 0;
  TaskGroup tasks_;
};

}  // namespace koord::console
