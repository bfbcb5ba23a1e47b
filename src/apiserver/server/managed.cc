#include "apiserver/objects/edit.h"

#include <algorithm>
#include "apiserver/server/body.h"
#include "apiserver/server/write.h"
#include "base/brief_json.h"
#include "base/time.h"
#include "base/utf8.h"

namespace koord::apiserver {
namespace {

constexpr std::size_t kMaxManager = 128;

// The program's name in a user agent: "kubectl" of "kubectl/v1.32.0 (linux/amd64)".
std::string programOf(std::string_view userAgent) {
  std::string out;
  auto rest = userAgent.substr(0, userAgent.find('/'));
  while (!rest.empty()) {
    const auto next = utf8CharacterAt(rest);
    // The text is stored and must be valid JSON; a header may have any bytes.
    const auto text = next.length == 0 ? std::string_view("\ufffd") : rest.substr(0, next.length);
    rest.remove_prefix(std::max<std::size_t>(next.length, 1));
    if (next.length != 0 && next.code < 0x20) continue;
    if (out.size() + text.size() > kMaxManager) break;
    out += text;
  }
  return out;
}

const api::FieldSet& spec() {
  static const auto set = api::fieldSetOf({"spec"});
  return set;
}
const api::FieldSet& specAndMetadata() {
  static const auto set = unite(spec(), api::fieldSetOf({"metadata"}));
  return set;
}
const api::FieldSet& status() {
  static const auto set = api::fieldSetOf({"status"});
  return set;
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
  // Built-in kinds have the owners of the fields of the stored form.
  const bool own =
      target_.resource == target_.stored && (target_.resource->custom || target_.version->storage);
  const auto& version = own ? *target_.version : target_.stored->storageVersion();
  write.apiVersion = target_.resource == target_.stored ? target_.stored->apiVersion(version.name)
                                                        : target_.apiVersion();
  write.schema = version.schema;
  if (request.subresource == "status") {
    write.ignored = target_.resource->custom ? &specAndMetadata() : &spec();
  } else if (version.hasStatus) {
    write.ignored = &status();
  }
  return write;
}

ManagedFields WriteCall::knownManagers() const {
  if (managed_.empty()) return {};
  const BriefJson list(managed_);
  return list ? parseManagedFields(*list).value_or(ManagedFields{}) : ManagedFields{};
}

void WriteCall::track(const json::value* old, const json::value& next, const json::value& given) {
  newOwners_ = false;
  if (applied_) {
    newOwners_ = !old || !sameManagers(knownManagers(), *applied_);
    managed_ = managedText(*applied_);
    return;
  }
  const auto write = managedWrite();
  if (!old && given.is_null()) {
    newOwners_ = true;
    managed_ = newManagedText(next, write);
    return;
  }
  const json::value nothing(json::object_kind);
  auto changes = changesOf(old ? *old : nothing, next, write);
  const bool useGiven = !given.is_null() && call_.request.subresource.empty();
  if (changes.empty() && !useGiven) return;

  const ManagedFields known = knownManagers();
  ManagedFields managed = known;
  if (useGiven) {
    // A client that does not know managedFields must not erase them by sending none.
    auto sent = parseManagedFields(given);
    if (isReset(given)) {
      managed.clear();
    } else if (sent && !sent->empty()) {
      managed = *std::move(sent);
    }
  }
  // An update does not add owners to an object whose owners are unknown or were reset.
  if (!old || !managed.empty()) noteUpdate(managed, std::move(changes), write);
  newOwners_ = !old || !sameManagers(known, managed);
  managed_ = managedText(std::move(managed));
}

json::value WriteCall::webhookForm(json::value object, const std::string& managed) const {
  json::value out = std::move(object);
  toRequestedForm(out, target_);
  if (auto list = managed.empty() ? Result<json::value>(nullptr) : parseJson(managed);
      list && list->is_array())
    objectAt(out.get_object(), "metadata")["managedFields"] = *std::move(list);
  return out;
}

json::value WriteCall::ownForm(json::value object) {
  eraseMember(objectAt(object.get_object(), "metadata"), "managedFields");
  return object;
}

void WriteCall::takeManagers(const json::value& given) {
  auto managed = parseManagedFields(given);
  if (!managed) {
    warnings_.push_back(
        ".metadata.managedFields was in an invalid state after admission; this could be caused by "
        "an outdated mutating admission controller; please fix your requests: " +
        managed.error().message);
    return;
  }
  if (sameManagers(*managed, knownManagers())) return;
  managed_ = managedText(*std::move(managed));
  newOwners_ = true;
}

}  // namespace koord::apiserver
