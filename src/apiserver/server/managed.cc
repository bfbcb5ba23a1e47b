#include "apiserver/objects/edit.h"
#include "apiserver/server/body.h"
#include "apiserver/server/write.h"
#include "base/time.h"

namespace koord::apiserver {
namespace {

constexpr std::size_t kMaxManager = 128;

// The program's name in a user agent: "kubectl" of "kubectl/v1.32.0 (linux/amd64)".
std::string programOf(std::string_view userAgent) {
  std::string out;
  for (const char c : userAgent.substr(0, userAgent.find('/')))
    if (static_cast<unsigned char>(c) >= 0x20 && out.size() < kMaxManager) out += c;
  return out;
}

bool isReset(const json::value& given) {
  const auto* list = given.if_array();
  return list && list->size() == 1 && list->front().is_object() &&
         list->front().get_object().empty();
}

}  // namespace

ManagedWrite WriteCall::managedWrite() const {
  const auto& request = call_.request;
  ManagedWrite write;
  write.manager = queryOf(request, "fieldManager");
  if (write.manager.empty()) write.manager = programOf(call_.userAgent);
  if (write.manager.empty()) write.manager = call_.user.name;
  write.subresource = request.subresource;
  write.now = formatTime(server_.executor_.wallNow());
  const bool own = target_.resource == target_.stored;
  const auto& version = own ? *target_.version : target_.stored->storageVersion();
  write.apiVersion = target_.stored->apiVersion(version.name);
  write.schema = version.schema;
  if (request.subresource == "status") {
    write.ignored = api::fieldSetOf({"spec"});
    if (target_.resource->custom) write.ignored.at({{}, "metadata"}).member = true;
  } else if (version.hasStatus) {
    write.ignored = api::fieldSetOf({"status"});
  }
  return write;
}

bool WriteCall::track(const json::value* old, const json::value& next, const json::value& given) {
  if (applied_) {
    const auto before = parseJson(managed_.empty() ? "null" : managed_);
    const auto known =
        before ? parseManagedFields(*before).value_or(ManagedFields{}) : ManagedFields{};
    managed_ = managedText(*applied_);
    return !old || !sameManagers(known, *applied_);
  }
  const auto write = managedWrite();
  const json::value nothing(json::object_kind);
  auto changes = changesOf(old ? *old : nothing, next, write);
  const bool useGiven = !given.is_null() && call_.request.subresource.empty();
  if (changes.empty() && !useGiven) return false;

  ManagedFields known;
  if (!managed_.empty())
    if (const auto list = parseJson(managed_))
      known = parseManagedFields(*list).value_or(ManagedFields{});
  ManagedFields managed = known;
  if (useGiven) {
    // A client that does not know the fields must not lose them by sending none.
    auto sent = parseManagedFields(given);
    if (isReset(given)) {
      managed.clear();
    } else if (sent && !sent->empty()) {
      managed = *std::move(sent);
    }
  }
  // Of objects whose owners were never known or were reset, an update does not begin to tell.
  if (!old || !managed.empty()) noteUpdate(managed, std::move(changes), write);
  const bool news = !old || !sameManagers(known, managed);
  managed_ = managedText(std::move(managed));
  return news;
}

}  // namespace koord::apiserver
