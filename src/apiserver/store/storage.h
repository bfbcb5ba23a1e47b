#pragma once

// Persistence of the store's contents. The store keeps everything in memory and passes every change
// to a Journal. Clients and watchers learn of a change only after the journal reports it as
// durable.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apiserver/store/entry.h"
#include "base/executor.h"
#include "base/result.h"

namespace koord::apiserver {

struct Change {
  std::uint64_t version = 0;
  std::string table;
  std::string key;
  EntryPtr entry;  // null: the object was deleted
};

struct StoredObject {
  std::string table;
  std::string key;
  std::uint64_t version = 0;
  std::string text;
};

struct StoredState {
  std::uint64_t version = 0;  // of the last change
  std::vector<StoredObject> objects;
};

// Stores the state; used by one thread at a time.
class Storage {
 public:
  virtual ~Storage() = default;
  virtual Result<StoredState> load() = 0;
  // Applies all of the changes or none; they are on disk when it returns. After a failure the call
  // may be repeated.
  virtual Result<> apply(std::span<const Change> changes) = 0;
  // Writes without effect, to check whether changes could be applied now.
  virtual Result<> probe() = 0;
};

// A SQLite file in WAL mode. Creates the file atomically if it does not exist. Fails if the file is
// empty, truncated, damaged, not a database of this server, not writable or in use by another
// server; the error names the file. A lost cluster must not look like a new one.
Result<std::unique_ptr<Storage>> openSqlite(const std::string& path);

// Takes changes and reports when they are durable. On the store's executor, as are the callbacks.
//
// When the storage fails, all changes that are not durable yet are dropped and never written: the
// failed ones, those that wait behind them, and those that are appended until resume(), because
// they may depend on the others.
class Journal {
 public:
  // The version up to which everything is durable, or why the changes after it were dropped.
  using OnDurable = std::function<void(Result<std::uint64_t> version)>;
  using OnProbed = std::function<void(Result<> outcome)>;

  virtual ~Journal() = default;
  virtual void append(Change change) = 0;
  // Takes changes again. Call after a failure, when the store has reverted the dropped changes.
  virtual void resume() = 0;
  // Checks whether the storage can be written. One at a time.
  virtual void probe(OnProbed onProbed) = 0;
};

// Writes on its own thread. While one batch is written, the next one gathers, so that concurrent
// writers share a sync. The executor must be thread-safe.
std::unique_ptr<Journal> makeGroupJournal(Executor& executor, std::unique_ptr<Storage> storage,
                                          Journal::OnDurable onDurable);
// Writes on the executor itself, for tests and simulations on virtual time.
std::unique_ptr<Journal> makeInlineJournal(Executor& executor, std::unique_ptr<Storage> storage,
                                           Journal::OnDurable onDurable);

}  // namespace koord::apiserver
