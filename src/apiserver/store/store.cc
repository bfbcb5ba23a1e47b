#include "apiserver/store/store.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

// Every change takes the next version of one counter for all tables, like a revision of etcd, and
// becomes an event at the end of its table's history: the entry before, the entry now. An event
// goes to three consumers. Observers are notified at once, inside of the write, and may make
// further writes. The journal writes it to disk. Watchers receive it when it is durable, so that a
// crash never undoes what a watcher has seen.
//
// A watch that starts at version V is served from the history: a binary search finds the first
// event after V, events already delivered to others come at once, and the rest with the other
// watchers'. A V below the oldest event is "410 Gone"; the watcher reads the state again and starts
// from there. There is no other watch cache: the tables are the state, the history is the recent
// past. A list at an older version, such as a later page, is the current state with the events
// after that version reverted.
//
// When the disk fails, everything after the last durable version is reverted in the same way,
// newest first, and the version counter, too. Versions are then used a second time, so a change is
// identified by epoch and version.
//
// Cost: a write is O(log n) in its table, plus its observers; delivery is O(watchers of the table)
// per event, and they share the bytes. Memory: the entries and at most historyEvents events per
// table, which share current entries with the tables.

namespace koord::apiserver {
namespace {

// Delay of the probes after a failure: the first, and the longest.
constexpr Duration kFirstProbe = std::chrono::milliseconds(250);
constexpr Duration kSlowestProbe = std::chrono::seconds(5);

// Of two consecutive events the later one has the earlier one's object, too, which is counted once.
std::size_t bytesIn(const Event& event) {
  return (event.now ? event.now : event.before)->text.size();
}

}  // namespace

std::pair<Table::Entries::const_iterator, Table::Entries::const_iterator> Table::range(
    const Entries& entries, std::string_view namespace_) {
  if (namespace_.empty()) return {entries.begin(), entries.end()};
  // "0" comes right after "/", which ends the namespace.
  const std::string first = std::string(namespace_) + "/";
  const std::string last = std::string(namespace_) + "0";
  return {entries.lower_bound(first), entries.lower_bound(last)};
}

Table::Entries Table::differencesAt(std::uint64_t version) const {
  Entries out;
  for (auto event = history_.rbegin(); event != history_.rend() && event->version > version;
       ++event)
    out[(event->before ? event->before : event->now)->key] = event->before;
  return out;
}

Store::Store(Executor& executor, Options options)
    : executor_(executor), options_(options), probeDelay_(kFirstProbe) {}

Store::~Store() {
  *alive_ = false;
  if (probeTimer_ != 0) executor_.cancel(probeTimer_);
  onHealth_ = nullptr;
  onReverted_ = nullptr;
  journal_.reset();
}

Table& Store::table(std::string_view name) {
  const auto it = tables_.find(name);
  if (it != tables_.end()) return *it->second;
  auto table = std::make_unique<Table>(std::string(name));
  table->oldest_ = version_;
  return *tables_.emplace(std::string(name), std::move(table)).first->second;
}

void Store::restore(Table& table, EntryPtr entry) {
  auto key = entry->key;
  table.entries_[std::move(key)] = std::move(entry);
}

void Store::restoreVersion(std::uint64_t version) {
  version_ = durable_ = std::max<std::uint64_t>(version, 1);
  for (auto& [name, table] : tables_) table->oldest_ = version_;
}

EntryPtr Store::put(Table& table, Draft draft, const json::value& object,
                    std::string_view managedFields) {
  const std::uint64_t version = ++version_;
  EntryPtr entry = makeEntry(std::move(draft), object, version, managedFields);
  auto& slot = table.entries_[entry->key];
  Event event{version, slot ? EventType::Modified : EventType::Added, std::move(slot), entry};
  slot = entry;
  record(table, std::move(event), Change{version, table.name_, entry->key, entry});
  return entry;
}

std::uint64_t Store::erase(Table& table, const EntryPtr& entry) {
  const EntryPtr gone = entry;
  const std::uint64_t version = ++version_;
  table.entries_.erase(gone->key);
  record(table, Event{version, EventType::Deleted, gone, nullptr},
         Change{version, table.name_, gone->key, nullptr});
  return version;
}

void Store::eraseAll(Table& table) {
  while (!table.entries_.empty()) erase(table, table.entries_.begin()->second);
}

void Store::record(Table& table, Event event, Change change) noexcept {
  std::optional<Event> observed;
  if (!table.observers_.empty()) observed = event;
  if (table.delivered_ == table.history_.size()) dirty_.push_back(&table);
  table.historyBytes_ += bytesIn(event);
  table.history_.push_back(std::move(event));
  // Only delivered events can be dropped.
  while ((table.history_.size() > options_.historyEvents ||
          table.historyBytes_ > options_.historyBytes) &&
         table.delivered_ > 0) {
    table.oldest_ = table.history_.front().version;
    table.historyBytes_ -= bytesIn(table.history_.front());
    table.history_.pop_front();
    --table.delivered_;
  }
  if (journal_) {
    journal_->append(std::move(change));
  } else if (!deliveryPosted_) {
    deliveryPosted_ = true;
    executor_.post([this, alive = alive_] {
      if (*alive) deliver();
    });
  }
  if (!observed) return;
  // Last, and by index: changes of observers come after this change.
  for (std::size_t i = 0; i < table.observers_.size(); ++i) table.observers_[i].fn(*observed);
}

void Store::durable(Result<std::uint64_t> version) {
  if (!version) return fail(std::move(version.error()));
  durable_ = *version;
  probeDelay_ = kFirstProbe;
  deliver();
  // Callbacks may make new changes and wait for them.
  while (!waiting_.empty() && waiting_.front().first <= durable_) {
    auto fn = std::move(waiting_.front().second);
    waiting_.pop_front();
    fn(true);
  }
  if (failure_) recover();
}

void Store::fail(Error error) {
  const bool first = !failure_;
  failure_ = std::move(error);
  revert();
  journal_->resume();
  // They wait for changes that were reverted.
  for (auto& [version, fn] : std::exchange(waiting_, {})) fn(false);
  if (first) {
    log::error("the storage failed, writes are refused: {}", failure_->message);
    if (onHealth_) onHealth_(&*failure_);
  }
  probeLater();
}

void Store::revert() {
  revertedTo_.push_back(durable_);
  for (auto& [name, table] : tables_) revert(*table);
  version_ = durable_;
  std::erase_if(dirty_,
                [](const Table* table) { return table->delivered_ == table->history_.size(); });
}

void Store::revert(Table& table) {
  while (!table.history_.empty() && table.history_.back().version > durable_) {
    const Event event = std::move(table.history_.back());
    table.history_.pop_back();
    table.historyBytes_ -= bytesIn(event);
    const auto& key = (event.before ? event.before : event.now)->key;
    if (event.before) {
      table.entries_[key] = event.before;
    } else {
      table.entries_.erase(key);
    }
    if (onReverted_) onReverted_(table, event);
    const Event back{durable_,
                     !event.before ? EventType::Deleted
                     : !event.now  ? EventType::Added
                                   : EventType::Modified,
                     event.now, event.before};
    for (const auto& observer : table.observers_)
      if (observer.derives) observer.fn(back);
  }
  table.oldest_ = std::min(table.oldest_, durable_);  // a table created meanwhile
  for (auto& subscription : table.watchers_)
    subscription.after = std::min(subscription.after, durable_);
}

void Store::probeLater() {
  if (probeTimer_ != 0) return;
  probeTimer_ = executor_.runAfter(probeDelay_, [this] {
    journal_->probe([this](Result<> outcome) {
      probeTimer_ = 0;
      if (!failure_) return;  // a write succeeded meanwhile
      if (outcome) return recover();
      failure_ = std::move(outcome.error());
      probeLater();
    });
  });
  probeDelay_ = std::min<Duration>(probeDelay_ * 2, kSlowestProbe);
}

void Store::recover() {
  failure_.reset();
  log::info("the storage accepts writes again");
  if (onHealth_) onHealth_(nullptr);
}

void Store::observe(std::function<void(const Table&, const Event&)> onReverted,
                    std::function<void(const Error*)> onHealth) {
  onReverted_ = std::move(onReverted);
  onHealth_ = std::move(onHealth);
}

void Store::whenDurable(std::uint64_t version, WhenDurable fn) {
  if (!journal_ || version <= durable_) {
    fn(true);
  } else {
    waiting_.emplace_back(version, std::move(fn));
  }
}

void Store::deliver() {
  deliveryPosted_ = false;
  auto dirty = std::move(dirty_);
  dirty_.clear();
  for (auto* table : dirty) deliver(*table);
}

void Store::deliver(Table& table) {
  const auto limit = durableVersion();
  ++table.walks_;
  while (table.delivered_ < table.history_.size() &&
         table.history_[table.delivered_].version <= limit) {
    const Event event = table.history_[table.delivered_++];
    for (auto it = table.watchers_.begin(); it != table.watchers_.end();) {
      if (it->watcher && it->after < event.version) {
        it->after = event.version;
        it->watcher->onEvent(event);
      }
      ++it;
    }
  }
  endWalk(table);
  if (table.delivered_ < table.history_.size()) dirty_.push_back(&table);
}

void Store::subscribe(Table& table, Watcher& watcher, std::uint64_t version) {
  table.watchers_.push_back({&watcher, version});
  const auto self = std::prev(table.watchers_.end());
  const auto begin = std::ranges::upper_bound(table.history_, version, {}, &Event::version);
  auto at = static_cast<std::size_t>(begin - table.history_.begin());
  ++table.walks_;
  // By index: nothing should be written meanwhile, but the history may move.
  while (self->watcher && at < table.delivered_) {
    const Event event = table.history_[at++];
    self->after = event.version;
    watcher.onEvent(event);
  }
  endWalk(table);
}

void Store::unsubscribe(Table& table, Watcher& watcher) {
  for (auto& subscription : table.watchers_)
    if (subscription.watcher == &watcher) subscription.watcher = nullptr;
  if (table.walks_ == 0) table.removeCancelled();
}

void Store::endWalk(Table& table) {
  if (--table.walks_ == 0) table.removeCancelled();
}

void Table::removeCancelled() {
  watchers_.remove_if([](const Subscription& one) { return one.watcher == nullptr; });
}

}  // namespace koord::apiserver
