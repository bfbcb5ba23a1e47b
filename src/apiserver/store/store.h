#pragma once

// The objects of the API server: ordered tables of encoded entries, one version counter, and per
// table a bounded history of changes from which watches are served.
//
// A change is visible in the tables at once, so that the next write is checked against it; it is
// told to watchers only when it is durable, and whoever answers a request that may have seen it
// waits for whenDurable first. With no journal everything is durable at once.
//
// When the storage fails (a full disk), what is not durable is taken back: the tables, and the
// version counter, are again what the disk has, which is all that anybody was told of. Reads and
// watches go on. The storage is probed until it can be written, and then writes go on, too.
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

// Gets the changes of one table, in order, from one version on.
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
  // The entries of one namespace; of all of them for "".
  std::pair<Entries::const_iterator, Entries::const_iterator> range(
      std::string_view namespace_) const;
  // What was different at an older version, not below oldestVersion(): the entries of then by key,
  // null for those that were not there.
  Entries differencesAt(std::uint64_t version) const;
  // Watches can start after any version from this one on.
  std::uint64_t oldestVersion() const { return oldest_; }
  std::size_t watcherCount() const { return watchers_.size(); }

 private:
  friend class Store;
  void forgetGone();
  struct Subscription {
    Watcher* watcher = nullptr;  // null: cancelled while events are delivered
    std::uint64_t after = 0;
  };

  std::string name_;
  Entries entries_;
  std::deque<Event> history_;
  std::size_t historyBytes_ = 0;
  std::uint64_t oldest_ = 0;   // the version before the first event of the history
  std::size_t delivered_ = 0;  // events of the history that watchers have got
  std::list<Subscription> watchers_;
  int walks_ = 0;  // over the watchers, under way; meanwhile none is taken out
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
    // Of their objects, per table: large objects that change often must not fill the memory.
    std::size_t historyBytes = std::size_t{256} << 20;
  };

  Store(Executor& executor, Options options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Puts back what was stored; before the first write.
  void restore(Table& table, EntryPtr entry);
  void restoreVersion(std::uint64_t version);
  // Where changes go; before the first write. The journal's callback must call durable().
  void setJournal(std::unique_ptr<Journal> journal) { journal_ = std::move(journal); }
  void durable(Result<std::uint64_t> version);

  Table& table(std::string_view name);
  std::uint64_t version() const { return version_; }
  std::uint64_t durableVersion() const { return journal_ ? durable_ : version_; }

  // managedFields as for makeEntry.
  EntryPtr put(Table& table, Draft draft, const json::value& object,
               std::string_view managedFields = {});
  // The version of the deletion.
  std::uint64_t erase(Table& table, const EntryPtr& entry);
  // Forgets a whole table with its history; its watchers hear of the deletions.
  void eraseAll(Table& table);

  // Why writes are to be refused for now: the storage failed.
  const std::optional<Error>& failure() const { return failure_; }
  // Counts how often changes were taken back. Versions are given anew after that, so that a change
  // is known by its epoch and its version.
  std::size_t epoch() const { return takenBackTo_.size(); }
  bool isTakenBack(std::size_t epoch, std::uint64_t version) const {
    return epoch < takenBackTo_.size() && version > takenBackTo_[epoch];
  }
  // Calls fn, at once or later: with true when everything up to `version` is durable, with false
  // when some of it has been taken back.
  using WhenDurable = std::move_only_function<void(bool durable)>;
  void whenDurable(std::uint64_t version, WhenDurable fn);
  // onTakenBack: for each change, the newest first, after the table is as before it. onHealth: the
  // storage failed (the error), or can be written again (null).
  void observe(std::function<void(const Table& table, const Event& event)> onTakenBack,
               std::function<void(const Error* failure)> onHealth);

  // Delivers the changes after `version`, which must not be below table.oldestVersion(): those of
  // the past at once, the others as they become durable. The watcher may unsubscribe from inside
  // onEvent.
  void subscribe(Table& table, Watcher& watcher, std::uint64_t version);
  void unsubscribe(Table& table, Watcher& watcher);
  // For what the server derives from its own objects: hears of every change in the moment it is
  // made, on disk or not, and may make further ones. For good.
  void observe(Table& table, std::function<void(const Event&)> observer) {
    table.observers_.push_back({std::move(observer), false});
  }
  // For what is derived and changes nothing itself: hears of changes that are taken back, too, as of
  // changes into the other direction.
  void derive(Table& table, std::function<void(const Event&)> observer) {
    table.observers_.push_back({std::move(observer), true});
  }

 private:
  // An exception would leave the tables, what is derived from them and the disk at odds: it ends the process,
  // which then reads again what was stored.
  void record(Table& table, Event event, Change change) noexcept;
  void fail(Error error);
  void takeBack();
  void takeBack(Table& table);
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
  std::vector<std::uint64_t>
      takenBackTo_;  // the version that was durable, at the end of each epoch
  TimerId probeTimer_ = 0;
  Duration probeDelay_{};
  std::function<void(const Table&, const Event&)> onTakenBack_;
  std::function<void(const Error*)> onHealth_;
  std::deque<std::pair<std::uint64_t, WhenDurable>> waiting_;  // by version
  std::vector<Table*> dirty_;                                  // with events to deliver
  bool deliveryPosted_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace koord::apiserver
