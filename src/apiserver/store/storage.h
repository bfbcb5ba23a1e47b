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
  // All of the changes or none; on disk when it returns.
  virtual Result<> apply(std::span<const Change> changes) = 0;
};

// A SQLite file in WAL mode. Fails when the file is damaged, cannot be written or is in use by
// another server, and names it.
Result<std::unique_ptr<Storage>> openSqlite(const std::string& path);

// Takes changes and says when they are durable. On the store's executor, as is the callback.
class Journal {
 public:
  // The version up to which everything is durable, or why nothing will be any more.
  using OnDurable = std::function<void(Result<std::uint64_t> version)>;

  virtual ~Journal() = default;
  virtual void append(Change change) = 0;
};

// Writes on a thread of its own: while one batch goes to disk the next one gathers, so that
// concurrent writers share a sync. The executor must be thread-safe.
std::unique_ptr<Journal> makeGroupJournal(Executor& executor, std::unique_ptr<Storage> storage,
                                          Journal::OnDurable onDurable);
// Writes on the executor itself, for tests and simulations on virtual time.
std::unique_ptr<Journal> makeInlineJournal(Executor& executor, std::unique_ptr<Storage> storage,
                                           Journal::OnDurable onDurable);

}  // namespace koord::apiserver
