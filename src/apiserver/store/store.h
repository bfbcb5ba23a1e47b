#pragma once

// The objects of the API server: ordered tables of encoded entries, one version counter, and per
// table a bounded history of changes from which watches are served.
//
// A change is visible in the tables at once, so that the next write is checked against it. Watchers
// receive it only when it is durable, and a request that may have read it is answered after
// whenDurable. Without a journal everything is durable at once.
//
// When the storage fails (a full disk), changes that are not durable are reverted: the tables and
// the version counter match the disk again, which is all that clients have seen. Reads and watches
// continue. The storage is probed until it can be written; then writes continue, too.
//
// On one executor's thread.

#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/store/entry.h"
#include "apiserver/store/storage.h"
#include "base/executor.h"

namespace koord::apiserver {

// Receives the changes of one table, in order, after a given version.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void onEvent(const Event& event) = 0;
};

class Store;

class Table {
 public:
  using Entries = std::map<std::string, EntryPtr, std::less<>>;

  explicit Table(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }
  const Entries& entries() const { return entries_; }
  EntryPtr find(std::string_view key) const {
    const auto it = entries_.find(key);
    return it == entries_.end() ? nullptr : it->second;
  }
  // The entries of one namespace; of all namespaces for "".
  std::pair<Entries::const_iterator, Entries::const_iterator> range(
      std::string_view namespace_) const {
    return range(entries_, namespace_);
  }
  static std::pair<Entries::const_iterator, Entries::const_iterator> range(
      const Entries& entries, std::string_view namespace_);
  // The differences to an older version, not below oldestVersion(): by key the entries of that
  // version, null for objects that did not exist.
  Entries differencesAt(std::uint64_t version) const;
  // The oldest version after which a watch can start.
  std::uint64_t oldestVersion() const { return oldest_; }
  std::size_t watcherCount() const { return watchers_.size(); }

 private:
  friend class Store;
  void removeCancelled();
  struct Subscription {
    Watcher* watcher = nullptr;  // null: cancelled while events are delivered
    std::uint64_t after = 0;
  };

  std::string name_;
  Entries entries_;
  std::deque<Event> history_;
  std::size_t historyBytes_ = 0;
  std::uint64_t oldest_ = 0;   // the version before the first event of the history
  std::size_t delivered_ = 0;  // events of the history that watchers have received
  std::list<Subscription> watchers_;
  int walks_ = 0;  // running loops over the watchers; meanwhile none is erased
  struct Observer {
    std::function<void(const Event&)> fn;
    bool derives = false;
  };
  std::vector<Observer> observers_;
};

class Store {
 public:
  struct Options {
    std::size_t historyEvents = 8192;  // per table
    // Size of the objects in the history, per table: frequent changes of large objects must not
    // fill the memory.
    std::size_t historyBytes = std::size_t{256} << 20;
  };

  Store(Executor& executor, Options options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Restores a stored entry. Call before the first write.
  void restore(Table& table, EntryPtr entry);
  void restoreVersion(std::uint64_t version);
  // Sets where changes are written. Call before the first write. The journal's callback must call
  // durable().
  void setJournal(std::unique_ptr<Journal> journal) { journal_ = std::move(journal); }
  void durable(Result<std::uint64_t> version);

  Table& table(std::string_view name);
  std::uint64_t version() const { return version_; }
  std::uint64_t durableVersion() const { return journal_ ? durable_ : version_; }

  // managedFields: see makeEntry.
  EntryPtr put(Table& table, Draft draft, const json::value& object,
               std::string_view managedFields = {});
  // Returns the version of the deletion.
  std::uint64_t erase(Table& table, const EntryPtr& entry);
  // Removes a whole table with its history; its watchers receive the deletions.
  void eraseAll(Table& table);

  // Why writes are rejected for now: the error of the storage. nullopt if it works.
  const std::optional<Error>& failure() const { return failure_; }
  // Counts the reverts. Versions are reused after a revert, so a change is identified by epoch and
  // version.
  std::size_t epoch() const { return revertedTo_.size(); }
  bool isReverted(std::size_t epoch, std::uint64_t version) const {
    return epoch < revertedTo_.size() && version > revertedTo_[epoch];
  }
  // Calls fn, at once or later: with true when everything up to `version` is durable, with false
  // when a part of it has been reverted.
  using WhenDurable = std::move_only_function<void(bool durable)>;
  void whenDurable(std::uint64_t version, WhenDurable fn);
  // onReverted: called for each reverted change, the newest first, after the table was reverted.
  // onHealth: called when the storage fails (the error) and when it can be written again (null).
  void observe(std::function<void(const Table& table, const Event& event)> onReverted,
               std::function<void(const Error* failure)> onHealth);

  // Delivers the changes after `version`, which must not be below table.oldestVersion(): durable
  // ones at once, the others when they become durable. onEvent may unsubscribe the watcher.
  void subscribe(Table& table, Watcher& watcher, std::uint64_t version);
  void unsubscribe(Table& table, Watcher& watcher);
  // For what the server derives from its own objects: calls `observer` for every change when it is
  // made, durable or not. The observer may make further changes. Cannot be removed.
  void observe(Table& table, std::function<void(const Event&)> observer) {
    table.observers_.push_back({std::move(observer), false});
  }
  // For derived state that makes no changes: reports a reverted change, too, as a change in the
  // opposite direction.
  void derive(Table& table, std::function<void(const Event&)> observer) {
    table.observers_.push_back({std::move(observer), true});
  }

 private:
  // An exception would leave the tables, derived state and the disk inconsistent. It ends the
  // process, which reads the stored state again at the next start.
  void record(Table& table, Event event, Change change) noexcept;
  void fail(Error error);
  void revert();
  void revert(Table& table);
  void probeLater();
  void recover();
  void deliver();
  void deliver(Table& table);
  static void endWalk(Table& table);

  Executor& executor_;
  Options options_;
  std::unique_ptr<Journal> journal_;
  std::map<std::string, std::unique_ptr<Table>, std::less<>> tables_;
  std::uint64_t version_ = 1;
  std::uint64_t durable_ = 1;
  std::optional<Error> failure_;
  std::vector<std::uint64_t> revertedTo_;  // the version that was durable, at the end of each epoch
  TimerId probeTimer_ = 0;
  Duration probeDelay_{};
  std::function<void(const Table&, const Event&)> onReverted_;
  std::function<void(const Error*)> onHealth_;
  std::deque<std::pair<std::uint64_t, WhenDurable>> waiting_;  // by version
  std::vector<Table*> dirty_;                                  // with events to deliver
  bool deliveryPosted_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace koord::apiserver
