#pragma once

// Where the store's contents outlive the process. The store keeps everything in memory and hands
// every change to a Journal; nothing that depends on a change is told to anybody before the journal
// says that it is on disk.

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
  EntryPtr entry;  // null: the object is gone
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

// A place to keep the state; used by one thread at a time.
class Storage {
 public:
  virtual ~Storage() = default;
  virtual Result<StoredState> load() = 0;
  // All of the changes or none; on disk when it returns. After a failure it may be tried again.
  virtual Result<> apply(std::span<const Change> changes) = 0;
  // Writes something that means nothing: whether changes could be applied now.
  virtual Result<> probe() = 0;
};

// A SQLite file in WAL mode. Where there is none it is made, whole at once. Fails when the file is
// empty, cut off, damaged or no database of ours, cannot be written or is in use by another server,
// and names it: a cluster that is lost must not look like a new one.
Result<std::unique_ptr<Storage>> openSqlite(const std::string& path);

// Takes changes and says when they are durable. On the store's executor, as are the callbacks.
//
// When the storage fails, all changes that are not durable yet are dropped: those that failed,
// those that wait behind them, and those that are appended until resume(), since they may build
// upon the others. Nothing of them is ever written.
class Journal {
 public:
  // The version up to which everything is durable, or why the changes after that were dropped.
  using OnDurable = std::function<void(Result<std::uint64_t> version)>;
  using OnProbed = std::function<void(Result<> outcome)>;

  virtual ~Journal() = default;
  virtual void append(Change change) = 0;
  // After a failure, when what was dropped is gone from the store: takes changes again.
  virtual void resume() = 0;
  // Asks the storage whether it can be written. One at a time.
  virtual void probe(OnProbed onProbed) = 0;
};

// Writes on a thread of its own: while one batch goes to disk the next one gathers, so that
// concurrent writers share a sync. The executor must be thread-safe.
std::unique_ptr<Journal> makeGroupJournal(Executor& executor, std::unique_ptr<Storage> storage,
                                          Journal::OnDurable onDurable);
// Writes on the executor itself, for tests and simulations on virtual time.
std::unique_ptr<Journal> makeInlineJournal(Executor& executor, std::unique_ptr<Storage> storage,
                                           Journal::OnDurable onDurable);

}  // namespace koord::apiserver
