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
//
// Each browser has a viewer (rights/view.h) and receives only the rows that it may see. When these
// are other rows than before, the table begins again with a reset. While they are not known,
// nothing is sent. Ids count the changes of all rows, so a viewer of a part receives none, and
// begins again after a lost connection.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "base/json.h"
#include "base/task.h"
#include "console/feed/table.h"
#include "console/rights/view.h"
#include "net/http_server.h"

namespace koord::console {

class Feed {
 public:
  using Tables = std::vector<std::unique_ptr<Table>>;

  using Status = std::function<json::value(const Viewer& viewer)>;

  // The tables may be added to until the first open(). status: as a viewer may read it.
  Feed(Executor& executor, const Tables& tables, Status status, std::string epoch);
  ~Feed();

  // Begins and continues the answer.
  void open(std::shared_ptr<net::Responder> responder, std::string_view since,
            std::shared_ptr<const Viewer> viewer = owner());
  // Sends what has changed, soon: rows, or what viewers may see.
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
  // Begins tables again of which the reader may see other rows than before.
  void take(Reader& reader, std::shared_ptr<const View> view) const;
  bool send(Reader& reader, std::size_t table);
  void endReaders();
  std::vector<ChangeLog::Number> positionsOf(std::string_view since) const;
  std::string idOf(const Reader& reader) const;
  Task<void> beat();

  Executor& executor_;
  const Tables& tables_;
  const Status status_;
  const std::string epoch_;  // of this process: positions of another one mean nothing
  std::vector<std::shared_ptr<Reader>> readers_;
  TimerId timer_ = 0;
  TaskGroup tasks_;
};

}  // namespace koord::console
