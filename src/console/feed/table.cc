#include "console/feed/table.h"

#include "base/json.h"
#include "base/log.h"
#include "kube/client.h"

namespace koord::console {

namespace {

using namespace std::chrono_literals;

constexpr Duration kAgain = 60s;
constexpr Duration kSoon = 2s;

std::string keyIn(const kube::Received& object) {
  const api::ObjectKey key = object.key();
  return key.namespace_.empty() ? key.name : key.namespace_ + "/" + key.name;
}

std::string_view textOfState(Access::State state) {
  using enum Access::State;
  switch (state) {
    case Loading:
      return "loading";
    case All:
      return "all";
    case Namespace:
      return "namespace";
    case Forbidden:
      return "forbidden";
    case Absent:
      return "absent";
    case Failed:
      return "failed";
  }
  return "";
}

Access refusedBy(const Error& error) {
  const auto state = error.code == ErrorCode::Forbidden  ? Access::State::Forbidden
                     : error.code == ErrorCode::NotFound ? Access::State::Absent
                                                         : Access::State::Failed;
  return {state, error.message, ""};
}

}  // namespace

json::value accessJson(const Access& access) {
  json::object out{{"state", textOfState(access.state)}};
  if (!access.message.empty()) out["message"] = access.message;
  if (!access.namespace_.empty()) out["namespace"] = access.namespace_;
  return out;
}

Table::Table(std::string name, const api::ResourceType& type, Read read, kube::Api& api,
             Executor& executor, std::function<void()> onChange)
    : name_(std::move(name)),
      type_(type),
      read_(std::move(read)),
      protobuf_(type.group.empty()),
      api_(api),
      watched_(api, [this](const Error* refusal) { onRefusal(refusal); }),
      executor_(executor),
      onChange_(std::move(onChange)) {}

Table::~Table() = default;

void Table::start(std::string ownNamespace) {
  tasks_.spawn(open(std::move(ownNamespace)));
}

void Table::set(Access access) {
  if (access.state == access_.state && access.message == access_.message) return;
  access_ = std::move(access);
  onChange_();
}

Task<void> Table::open(std::string ownNamespace) {
  using enum Access::State;
  while (true) {
    auto asking = tryToList("");
    auto whole = co_await asking;
    if (whole) {
      follow({All, "", ""});
      break;
    }
    const bool forbidden = whole.error().code == ErrorCode::Forbidden;
    if (forbidden && type_.namespaced && !ownNamespace.empty()) {
      auto askingThere = tryToList(ownNamespace);
      auto there = co_await askingThere;
      if (there) {
        follow({Namespace, whole.error().message, ownNamespace});
        break;
      }
    }
    set(refusedBy(whole.error()));
    auto pause = sleepFor(executor_, access_.state == Failed ? kSoon : kAgain);
    co_await pause;
  }
}

void Table::follow(Access access) {
  granted_ = std::move(access);
  set(granted_);
  kube::ReflectorSink& sink = *this;
  reflector_ = std::make_unique<kube::Reflector>(
      watched_, executor_, type_,
      kube::WatchScope{.namespace_ = granted_.namespace_, .optional = true}, sink, Random(1));
  reflector_->start();
}

void Table::onRefusal(const Error* refusal) {
  set(refusal ? refusedBy(*refusal) : granted_);
}

Task<Result<std::string>> Table::tryToList(std::string namespace_) {
  auto request = kube::listRequest(type_, std::move(namespace_), "", "");
  request.query["limit"] = "1";
  auto calling = api_.call(std::move(request));
  auto reply = co_await calling;
  co_return reply;
}

void Table::beginReplace() {
  unseen_.clear();
  for (auto& key : rows_.keys()) unseen_.insert(std::move(key));
}

void Table::upsert(const kube::Received& object) {
  auto row = read_(object);
  if (!row) {
    log::warn("console: ignoring {} {}: {}", type_.kind, keyIn(object), row.error().message);
    return;
  }
  if (!*row) return remove(object);
  unseen_.erase((*row)->key);
  if (rows_.put(**std::move(row)) && synced_) onChange_();
}

void Table::remove(const kube::Received& object) {
  if (rows_.erase(keyIn(object))) onChange_();
}

void Table::endReplace() {
  for (const auto& key : std::exchange(unseen_, {})) rows_.erase(key);
  synced_ = true;
  onChange_();
}

}  // namespace koord::console
