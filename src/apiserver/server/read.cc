#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <tuple>
#include <utility>

#include "apiserver/server/body.h"
#include "apiserver/server/match.h"
#include "apiserver/server/read.h"
#include "apiserver/server/server.h"
#include "net/tls.h"

namespace koord::apiserver {
namespace {

// Bytes of objects that are rendered as rows or metadata before other requests get a turn.
constexpr std::size_t kBytesPerSlice = 1 << 20;
// Tables of resources with at most so many objects are not cut into pages of this size or larger.
constexpr std::size_t kWholeTable = 25'000;
constexpr std::uint64_t kPageOfKubectl = 500;

Outcome<std::uint64_t> numberOf(std::string_view text, std::string_view name) {
  std::uint64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc{} || end != text.data() + text.size())
    return refuse(ErrorCode::BadRequest,
                  fmt::format("{}: Invalid value: \"{}\": must be a number", name, text));
  return value;
}

// Where a list continues: after this key, in a list of this version.
struct Continue {
  std::uint64_t version = 0;
  std::string after;

  std::string encode() const {
    return net::base64Encode(
        toJson(json::object{{"v", "meta.k8s.io/v1"}, {"rv", version}, {"start", after}}));
  }
  static Outcome<Continue> decode(std::string_view token) {
    auto text = net::base64Decode(token);
    auto object = text ? parseJson(*text) : Result<json::value>(std::unexpected(text.error()));
    const auto* member = object ? find(*object, "rv") : nullptr;
    const auto version = member ? wholeNumber(*member) : std::nullopt;
    if (!version || *version < 0) return refuse(ErrorCode::BadRequest, "continue key is not valid");
    return Continue{static_cast<std::uint64_t>(*version), std::string(textAt(*object, "start"))};
  }
};

Failure expired() {
  return {ErrorCode::Gone,
          "The provided continue parameter is too old to display a consistent list result. You can "
          "start a new list without the continue parameter."};
}

struct Page {
  std::vector<EntryPtr> entries;
  std::size_t more = 0;  // that follow; at least one if not counted
};

struct Selection {
  std::uint64_t version = 0;
  std::string only;         // the only key that can match; "" = any
  std::string after;        // return keys after this key
  std::uint64_t limit = 0;  // 0 = none
  bool count = false;       // report how many are left
};

// Walks the entries of a namespace ("" = all) in the order of their keys, from behind the key
// `after` on ("" = from the first). `after` comes from the client and may lie anywhere. The entries
// must outlive the cursor.
class Cursor {
 public:
  Cursor(const Table::Entries& entries, std::string_view namespace_, const std::string& after) {
    std::tie(at_, end_) = Table::range(entries, namespace_);
    if (after.empty() || at_ == end_ || at_->first > after) return;
    at_ = std::prev(end_)->first <= after ? end_ : entries.upper_bound(after);
  }
  bool atEnd() const { return at_ == end_; }
  const std::string& key() const { return at_->first; }
  const auto& entry() const { return at_->second; }
  void next() { ++at_; }

 private:
  Table::Entries::const_iterator at_, end_;
};

// The entries that matched at that version.
Page selectEntries(const Table& table, const Match& match, const Selection& selection,
                   std::uint64_t newest) {
  const auto& [version, only, after, limit, count] = selection;
  Page page;
  const auto& namespace_ = match.inNamespace();
  const auto then = version < newest ? table.differencesAt(version) : Table::Entries{};
  if (!only.empty() && then.empty()) {
    const auto entry = table.find(only);
    if (entry && match(*entry)) page.entries.push_back(entry);
    return page;
  }
  Cursor now(table.entries(), namespace_, after);
  Cursor old(then, namespace_, after);
  const bool everything = match.everything() && limit == 0 && then.empty();
  if (everything) page.entries.reserve(table.entries().size());
  // A merge of two ordered sequences. An old entry replaces the current entry of its key.
  while (!now.atEnd() || !old.atEnd()) {
    const bool takeOld = now.atEnd() || (!old.atEnd() && old.key() <= now.key());
    if (takeOld && !now.atEnd() && old.key() == now.key()) now.next();
    Cursor& from = takeOld ? old : now;
    const auto& entry = from.entry();
    from.next();
    if (!entry || (!everything && !match(*entry))) continue;
    if (limit != 0 && page.entries.size() == limit) {
      ++page.more;
      if (!count) return page;
    } else {
      page.entries.push_back(entry);
    }
  }
  return page;
}

// The state that a list shows: the current one, except for later pages of a list and lists of an
// exact version, which show that version.
Outcome<Continue> startOf(const kube::Request& request, const Table& table, std::uint64_t newest) {
  Continue start{newest, ""};
  const auto wanted = queryOf(request, "resourceVersion");
  const auto rule = queryOf(request, "resourceVersionMatch");
  const auto token = queryOf(request, "continue");
  if (!rule.empty() && rule != "Exact" && rule != "NotOlderThan")
    return refuse(FieldErrors()
                      .unsupported("resourceVersionMatch", rule, {"Exact", "NotOlderThan", ""})
                      .failure(kListOptions, ""));
  if (!rule.empty() && wanted.empty())
    return refuse(
        FieldErrors()
            .forbidden("resourceVersionMatch",
                       "resourceVersionMatch is forbidden unless resourceVersion is provided")
            .failure(kListOptions, ""));
  if (!token.empty()) {
    auto from = Continue::decode(token);
    if (!from) return std::unexpected(std::move(from.error()));
    if (from->version < table.oldestVersion() || from->version > newest) return refuse(expired());
    start.version = from->version;
    start.after = from->after;
  } else if (!wanted.empty() && wanted != "0") {
    auto version = numberOf(wanted, "resourceVersion");
    if (!version) return std::unexpected(std::move(version.error()));
    if (*version > newest) {
      Failure failure(ErrorCode::Timeout,
                      fmt::format("Too large resource version: {}, current: {}", *version, newest));
      failure.error.retryAfter = std::chrono::seconds(1);
      failure.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
      return refuse(std::move(failure));
    }
    if (rule == "Exact") {
      if (*version < table.oldestVersion())
        return refuse(
            ErrorCode::Gone,
            fmt::format("The resourceVersion for the provided list is too old: {}", *version));
      start.version = *version;
    }
  }
  return start;
}

// The limit of a list. The API allows a server to ignore it and to return everything. For the table
// of kubectl get that is better for all: kubectl asks for pages of 500, prints nothing before it
// has the last one, and sends five requests a second.
Outcome<std::uint64_t> limitOf(const Call& call, const Table& table) {
  const auto text = queryOf(call.request, "limit");
  if (text.empty()) return 0;
  auto limit = numberOf(text, "limit");
  if (!limit) return std::unexpected(std::move(limit.error()));
  const bool shown =
      call.format == Format::Table && queryOf(call.request, "includeObject") != "Object";
  if (shown && *limit >= kPageOfKubectl && table.entries().size() <= kWholeTable) return 0;
  return *limit;
}

}  // namespace

Outcome<Reply> Server::get(const Call& call, const Target& target) {
  const auto& request = call.request;
  const auto entry = target.table->find(
      makeKey(target.resource->namespaced ? request.namespace_ : "", request.name));
  if (!entry) return refuse(notFound(*target.resource, request.name));
  Reply reply;
  if (call.format == Format::Object && target.sameForm()) {
    reply.body = Bytes(entry, &entry->text);
  } else {
    reply.body = bytesOf(renderOne(call, target, entry->text, executor_.wallNow()));
  }
  return reply;
}

Outcome<ListPage> pageOf(const Call& call, const Target& target, const Store& store) {
  const auto& request = call.request;
  auto match = Match::compile(request, target);
  if (!match) return std::unexpected(std::move(match.error()));

  auto start = startOf(request, *target.table, store.version());
  if (!start) return std::unexpected(std::move(start.error()));
  ListMeta meta{start->version, "", std::nullopt};
  const auto limit = limitOf(call, *target.table);
  if (!limit) return std::unexpected(limit.error());

  // Only a list without selectors knows how many objects are left.
  const bool count =
      queryOf(request, "labelSelector").empty() && queryOf(request, "fieldSelector").empty();
  const bool one =
      !match->name().empty() && (!target.resource->namespaced || !match->inNamespace().empty());
  auto page = selectEntries(*target.table, *match,
                            {meta.version, one ? makeKey(match->inNamespace(), match->name()) : "",
                             start->after, *limit, count},
                            store.version());
  if (page.more > 0) {
    meta.continueToken = Continue{meta.version, page.entries.back()->key}.encode();
    if (count) meta.remaining = page.more;
  }
  return ListPage{target, std::move(meta), std::move(page.entries)};
}

Outcome<ListPage> pageOf(const Call& call, const Registry& registry, Store& store) {
  auto target = findTarget(registry, store, call.request);
  if (!target) return std::unexpected(std::move(target.error()));
  return pageOf(call, *target, store);
}

Task<Reply> renderInSlices(Executor& executor, const Call& call, Outcome<ListPage> page) {
  Reply reply;
  if (!page) {
    reply = failureReply(std::move(page.error()), call.request);
    co_return reply;
  }
  ListWriter writer(call, page->target, page->meta, executor.wallNow());
  std::size_t bytes = 0;
  for (auto& entry : page->entries) {
    bytes += entry->text.size();
    writer.add(*std::exchange(entry, nullptr));
    if (bytes < kBytesPerSlice) continue;
    bytes = 0;
    auto yield = sleepFor(executor, Duration::zero());
    co_await yield;
  }
  reply.body = bytesOf(std::move(writer).finish());
  if (const auto& warning = page->target.version->deprecationWarning; !warning.empty())
    reply.warnings.push_back(warning);
  co_return reply;
}

Outcome<Reply> Server::list(const Call& call, const Target& target) {
  auto page = pageOf(call, target, store_);
  if (!page) return std::unexpected(std::move(page.error()));
  ListWriter writer(call, target, page->meta, executor_.wallNow());
  std::size_t bytes = 0;
  for (const auto& entry : page->entries) bytes += entry->text.size() + 1;
  writer.reserve(bytes);
  for (const auto& entry : page->entries) writer.add(*entry);
  Reply reply;
  reply.body = bytesOf(std::move(writer).finish());
  return reply;
}

Reply Server::read(const Call& call) {
  auto target = findTarget(registry_, store_, call.request);
  if (!target) return failureReply(std::move(target.error()), call.request);
  const auto& subresource = call.request.subresource;
  if (!subresource.empty() && subresource != "status" && subresource != "resize" &&
      subresource != "ephemeralcontainers")
    return failureReply(notAllowed(), call.request);
  auto outcome = call.request.verb == kube::Verb::List ? list(call, *target) : get(call, *target);
  if (!outcome) return failureReply(std::move(outcome.error()), call.request);
  if (!target->version->deprecationWarning.empty())
    outcome->warnings.push_back(target->version->deprecationWarning);
  return *std::move(outcome);
}

}  // namespace koord::apiserver
