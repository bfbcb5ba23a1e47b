#include <fmt/format.h>

#include <charconv>

#include "apiserver/server/body.h"
#include "apiserver/server/match.h"
#include "apiserver/server/render.h"
#include "apiserver/server/server.h"

namespace koord::apiserver {
namespace {

constexpr auto kBookmarkEvery = std::chrono::seconds(60);

// One watcher of one table. Its lines are rendered by the table's shared encoder where the client
// wants plain objects, so that many watchers of an event send the same bytes.
class Stream final : public WatchStream, private Watcher {
 public:
  Stream(Server& server, Call call, Target target, Match match, LineSink sink)
      : server_(server),
        call_(std::move(call)),
        target_(std::move(target)),
        match_(std::move(match)),
        sink_(std::move(sink)) {}

  ~Stream() override {
    *alive_ = false;
    if (subscribed_) server_.store().unsubscribe(*target_.table, *this);
    for (const auto timer : {bookmarkTimer_, endTimer_})
      if (timer != 0) server_.executor().cancel(timer);
  }

  void start(std::optional<std::uint64_t> after, bool initialEvents, bool bookmarks,
             std::chrono::seconds timeout) {
    bookmarks_ = bookmarks;
    const auto alive = alive_;
    if (after) {
      follow(*after);
    } else {
      const auto version = server_.store().version();
      std::vector<EntryPtr> entries;
      const auto [begin, end] = target_.table->range(match_.inNamespace());
      for (auto it = begin; it != end; ++it)
        if (match_(*it->second)) entries.push_back(it->second);
      // What is not on disk yet is not shown yet.
      server_.store().whenDurable(
          version, [this, alive, version, entries = std::move(entries), initialEvents] {
            if (!*alive) return;
            for (const auto& entry : entries) {
              send("ADDED", entry->text);
              if (!*alive) return;
            }
            if (initialEvents) sendBookmark(version, true);
            if (*alive) follow(version);
          });
    }
    if (!*alive) return;
    if (bookmarks_) armBookmark();
    if (timeout.count() > 0)
      endTimer_ = server_.executor().runAfter(timeout, [this] {
        endTimer_ = 0;
        finish(Error{ErrorCode::Unknown, "", {}});
      });
  }

 private:
  void follow(std::uint64_t version) {
    if (version < target_.table->oldestVersion() || version > server_.store().version()) {
      expire(version);
      return;
    }
    last_ = version;
    subscribed_ = true;
    server_.store().subscribe(*target_.table, *this, version);
  }

  void onEvent(const Event& event) override {
    last_ = event.version;
    const bool was = event.before && match_(*event.before);
    const bool is = event.now && match_(*event.now);
    if (is) {
      const bool added = event.type == EventType::Added || !was;
      if (call_.format == Format::Object && target_.sameForm()) {
        sink_.onLine(server_.eventLine(event, added));
      } else {
        send(added ? "ADDED" : "MODIFIED", event.now->text);
      }
    } else if (was) {
      // Gone, or gone from what the selectors select: the last state that was seen, with the new
      // version.
      send("DELETED", textWithVersion(*event.before, event.version));
    }
  }

  void send(std::string_view type, const std::string& text) {
    sink_.onLine(
        bytesOf(renderEvent(type, renderOne(call_, target_, text, server_.executor().wallNow()))));
  }

  void sendBookmark(std::uint64_t version, bool initialEnd) {
    json::object metadata{{"resourceVersion", std::to_string(version)},
                          {"creationTimestamp", nullptr}};
    if (initialEnd) metadata["annotations"] = {{"k8s.io/initial-events-end", "true"}};
    const bool partial = call_.format == Format::PartialMetadata;
    const json::object object{{"kind", partial ? "PartialObjectMetadata" : target_.resource->kind},
                              {"apiVersion", partial ? "meta.k8s.io/v1" : target_.apiVersion()},
                              {"metadata", std::move(metadata)}};
    if (call_.format == Format::Table) {
      sink_.onLine(bytesOf(renderEvent(
          "BOOKMARK",
          fmt::format("{{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/"
                      "v1\",\"metadata\":{{\"resourceVersion\":\"{}\"}},"
                      "\"columnDefinitions\":[],\"rows\":[{{\"cells\":[],\"object\":{}}}]}}",
                      version, toJson(object)))));
    } else {
      sink_.onLine(bytesOf(renderEvent("BOOKMARK", toJson(object))));
    }
  }

  void armBookmark() {
    bookmarkTimer_ = server_.executor().runAfter(kBookmarkEvery, [this] {
      bookmarkTimer_ = 0;
      const auto alive = alive_;
      const auto version = server_.store().durableVersion();
      if (subscribed_ && version > last_) {
        last_ = version;
        sendBookmark(version, false);
      }
      if (*alive) armBookmark();
    });
  }

  void expire(std::uint64_t version) {
    Failure failure(ErrorCode::Gone, fmt::format("too old resource version: {} ({})", version,
                                                 target_.table->oldestVersion()));
    const auto alive = alive_;
    sink_.onLine(bytesOf(renderEvent("ERROR", statusText(failure, {}))));
    if (*alive) finish(std::move(failure.error));
  }

  void finish(Error error) {
    auto onEnd = std::move(sink_.onEnd);
    if (onEnd) onEnd(std::move(error));
  }

  Server& server_;
  Call call_;
  Target target_;
  Match match_;
  LineSink sink_;
  bool subscribed_ = false;
  bool bookmarks_ = false;
  std::uint64_t last_ = 0;
  TimerId bookmarkTimer_ = 0;
  TimerId endTimer_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

// The line of an event for watchers that want plain objects; the newest one is kept, as all
// watchers of an event ask for it one after the other.
const Bytes& Server::eventLine(const Event& event, bool added) {
  auto& slot = added ? addedLine_ : modifiedLine_;
  if (slot.version != event.version) {
    slot.version = event.version;
    slot.line = bytesOf(renderEvent(added ? "ADDED" : "MODIFIED", event.now->text));
  }
  return slot.line;
}

Outcome<std::unique_ptr<WatchStream>> Server::watch(Call call, LineSink sink) {
  ++counters_.watches;
  auto target = findTarget(registry_, store_, call.request);
  if (!target) return std::unexpected(std::move(target.error()));
  auto match = Match::compile(call.request, *target);
  if (!match) return std::unexpected(std::move(match.error()));
  const auto& request = call.request;
  const auto flag = [&](std::string_view name) {
    const auto value = queryOf(request, name);
    return value == "true" || value == "1";
  };
  const bool initial = flag("sendInitialEvents");
  const auto rule = queryOf(request, "resourceVersionMatch");
  if (initial && rule != "NotOlderThan")
    return refuse(ErrorCode::Invalid,
                  "resourceVersionMatch: Forbidden: sendInitialEvents requires setting "
                  "resourceVersionMatch to NotOlderThan");
  if (!initial && !rule.empty() && queryOf(request, "sendInitialEvents").empty())
    return refuse(ErrorCode::Invalid,
                  "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch "
                  "unless sendInitialEvents is provided");
  std::optional<std::uint64_t> after;
  if (const auto text = queryOf(request, "resourceVersion");
      !text.empty() && text != "0" && !initial) {
    std::uint64_t version = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), version);
    if (ec != std::errc{} || end != text.data() + text.size())
      return refuse(ErrorCode::BadRequest,
                    fmt::format("resourceVersion: Invalid value: \"{}\": must be a number", text));
    after = version;
  }
  std::chrono::seconds timeout{1800 + static_cast<std::int64_t>(random_.below(1800))};
  if (const auto text = queryOf(request, "timeoutSeconds"); !text.empty()) {
    std::int64_t seconds = 0;
    std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (seconds > 0) timeout = std::chrono::seconds(seconds);
  }
  const bool bookmarks = flag("allowWatchBookmarks");
  auto stream = std::make_unique<Stream>(*this, std::move(call), *std::move(target),
                                         *std::move(match), std::move(sink));
  auto* started = stream.get();
  started->start(after, initial, bookmarks, timeout);
  return stream;
}

}  // namespace koord::apiserver
