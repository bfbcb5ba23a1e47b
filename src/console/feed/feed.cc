#include "console/feed/feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ranges>

namespace koord::console {

namespace {

using namespace std::chrono_literals;

constexpr Duration kCollect = 200ms;
constexpr Duration kBehind = 50ms;  // until a reader may have taken what was sent
constexpr Duration kBeat = 5s;
constexpr std::size_t kRowsAnEvent = 1000;
constexpr std::size_t kMostQueued = 1 << 20;

net::Responder::Bytes eventOf(std::string_view name, std::string_view id, std::string_view data) {
  return std::make_shared<const std::string>(
      id.empty() ? fmt::format("event: {}\ndata: {}\n\n", name, data)
                 : fmt::format("event: {}\nid: {}\ndata: {}\n\n", name, id, data));
}

// Leaves only what may be seen.
void keepVisible(ChangeLog::Changes& changes, const Part& part) {
  if (part.all) return;
  std::erase_if(changes.rows, [&](const Row* row) { return !part.shows(row->key); });
  std::erase_if(changes.gone, [&](std::string_view key) { return !part.shows(key); });
}

std::string rowsText(const std::string& table, const ChangeLog::Changes& changes) {
  std::string out = fmt::format("{{\"t\":\"{}\"", table);
  if (changes.reset) out += ",\"reset\":true";
  if (!changes.rows.empty()) {
    out += ",\"rows\":[";
    for (const Row* row : changes.rows) {
      if (row != changes.rows.front()) out += ',';
      out += row->columns;
    }
    out += ']';
  }
  if (!changes.gone.empty()) {
    out += ",\"gone\":[";
    for (const auto& key : changes.gone) {
      if (&key != &changes.gone.front()) out += ',';
      appendJsonText(out, key);
    }
    out += ']';
  }
  return out + "}";
}

}  // namespace

struct Feed::Reader {
  std::shared_ptr<net::Responder> responder;
  std::shared_ptr<const Viewer> viewer;
  std::shared_ptr<const View> view;     // of what was sent; null = nothing was
  std::vector<ChangeLog::Number> read;  // by table
  bool synced = false;
};

Feed::Feed(Executor& executor, const Tables& tables, Status status, std::string epoch)
    : executor_(executor), tables_(tables), status_(std::move(status)), epoch_(std::move(epoch)) {
  tasks_.spawn(beat());
}

Feed::~Feed() {
  if (timer_) executor_.cancel(timer_);
}

void Feed::open(std::shared_ptr<net::Responder> responder, std::string_view since,
                std::shared_ptr<const Viewer> viewer) {
  auto reader = std::make_shared<Reader>();
  reader->view = viewer->view();
  // Positions are those of a viewer of everything, who has all rows up to them.
  const bool everything = reader->view && reader->view->everything();
  reader->read = positionsOf(everything ? since : "");
  reader->viewer = std::move(viewer);
  reader->responder = std::move(responder);
  reader->responder->authenticated();
  reader->responder->onClosed([this, weak = std::weak_ptr(reader)] {
    const auto closed = weak.lock();
    std::erase(readers_, closed);
  });
  reader->responder->begin(200, {{"Content-Type", "text/event-stream"},
                                 {"Cache-Control", "no-store"},
                                 {"X-Content-Type-Options", "nosniff"}});
  reader->responder->write(eventOf("status", "", toJson(status_(*reader->viewer))));
  // A browser may have rows of another process, also of tables that are empty here.
  for (std::size_t table = 0; table < tables_.size(); ++table)
    if (reader->read[table] == 0)
      reader->responder->write(
          eventOf("rows", "", rowsText(tables_[table]->name(), {.reset = true})));
  readers_.push_back(std::move(reader));
  flushSoon(Duration::zero());
}

std::vector<ChangeLog::Number> Feed::positionsOf(std::string_view since) const {
  std::vector<ChangeLog::Number> positions;
  for (const auto part : since | std::views::split('-')) {
    const std::string_view text(part.begin(), part.end());
    if (text.data() == since.data()) {
      if (text != epoch_) break;
      continue;
    }
    ChangeLog::Number number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    positions.push_back(number);
  }
  positions.resize(tables_.size(), 0);
  return positions;
}

std::string Feed::idOf(const Reader& reader) const {
  return fmt::format("{}-{}", epoch_, fmt::join(reader.read, "-"));
}

void Feed::changed() {
  if (!readers_.empty()) flushSoon(kCollect);
}

void Feed::flushSoon(Duration delay) {
  if (timer_) return;
  timer_ = executor_.runAfter(delay, [this] {
    timer_ = 0;
    flush();
  });
}

void Feed::endReaders() {
  for (const auto& reader : std::vector(readers_)) {
    if (reader->viewer->ended().empty()) continue;
    std::erase(readers_, reader);
    reader->responder->end();
  }
}

void Feed::flush() {
  endReaders();
  bool behind = false;
  for (const auto& reader : std::vector(readers_)) behind |= !fill(*reader);
  if (behind) flushSoon(kBehind);
}

void Feed::take(Reader& reader, std::shared_ptr<const View> view) const {
  if (view == reader.view) return;
  for (std::size_t table = 0; table < tables_.size(); ++table)
    if (!reader.view || view->parts[table] != reader.view->parts[table]) reader.read[table] = 0;
  reader.view = std::move(view);
}

bool Feed::fill(Reader& reader) {
  auto view = reader.viewer->view();
  if (!view) return true;  // changed() follows when it is known
  take(reader, std::move(view));
  const auto isBehind = [&] { return reader.responder->queuedBytes() > kMostQueued; };
  for (std::size_t table = 0; table < tables_.size(); ++table) {
    if (isBehind()) return false;
    while (send(reader, table))
      if (isBehind()) return false;
  }
  const auto settled = [](const auto& table) { return table->settled(); };
  if (reader.synced || !std::ranges::all_of(tables_, settled)) return true;
  reader.synced = true;
  reader.responder->write(eventOf("synced", "", "{}"));
  return true;
}

// Returns true if the table has more.
bool Feed::send(Reader& reader, std::size_t table) {
  const ChangeLog& rows = tables_[table]->rows();
  const Part& part = reader.view->parts[table];
  auto& read = reader.read[table];
  if (read == rows.latest() && read != 0) return false;
  auto changes = rows.after(read, kRowsAnEvent);
  if (changes.rows.empty() && changes.gone.empty() && !changes.reset) return false;
  if (changes.upTo == 0) return false;  // no row has ever been there
  if (part.none()) {
    changes = {.reset = changes.reset, .upTo = rows.latest()};
  } else {
    keepVisible(changes, part);
  }
  read = changes.upTo;
  if (changes.rows.empty() && changes.gone.empty() && !changes.reset) return changes.more;
  const std::string id = reader.view->everything() ? idOf(reader) : std::string();
  reader.responder->write(eventOf("rows", id, rowsText(tables_[table]->name(), changes)));
  return changes.more;
}

void Feed::sendStatus() {
  for (const auto& reader : std::vector(readers_))
    if (reader->responder->queuedBytes() < kMostQueued)
      reader->responder->write(eventOf("status", "", toJson(status_(*reader->viewer))));
}

Task<void> Feed::beat() {
  while (true) {
    auto pause = sleepFor(executor_, kBeat);
    co_await pause;
    sendStatus();
  }
}

}  // namespace koord::console
