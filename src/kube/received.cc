#include "kube/received.h"

#include <fmt/format.h>

#include "api/protobuf/plan.h"
#include "api/protobuf/transcode.h"
#include "api/schema/schema.h"
#include "base/brief_json.h"

namespace koord::kube {
namespace {

// Every kind has its metadata in the same place.
const api::MessageField& metadataField() {
  static const api::MessageField field("Pod", {"metadata"});
  return field;
}

std::unexpected<Error> truncatedBody(const Error& error) {
  return fail(ErrorCode::Unavailable, "the response is truncated or not JSON: " + error.message);
}

}  // namespace

api::ObjectKey Received::key() const {
  if (document_)
    return {std::string(textAt(*document_, "metadata", "namespace")),
            std::string(textAt(*document_, "metadata", "name"))};
  static const api::MessageField inside("ObjectMeta", {"namespace"}), name("ObjectMeta", {"name"});
  const auto metadata = metadataField().in(message_);
  return {std::string(inside.in(metadata)), std::string(name.in(metadata))};
}

std::string_view Received::uid() const {
  if (document_) return textAt(*document_, "metadata", "uid");
  static const api::MessageField uid("ObjectMeta", {"uid"});
  return uid.in(metadataField().in(message_));
}

std::string_view Received::resourceVersion() const {
  if (document_) return textAt(*document_, "metadata", "resourceVersion");
  static const api::MessageField version("ObjectMeta", {"resourceVersion"});
  return version.in(metadataField().in(message_));
}

std::string Received::annotation(std::string_view name) const {
  if (document_) return std::string(textAt(*document_, "metadata", "annotations", name));
  const auto metadata = api::decodeMessage(metadataField().in(message_),
                                           *api::sharedBuiltinTypes().find("ObjectMeta"));
  return metadata ? std::string(textAt(*metadata, "annotations", name)) : std::string();
}

Result<> openObject(std::string_view body, std::function<void(const Received&)> visit) {
  if (api::isProtobufBody(body)) {
    const auto envelope = api::openEnvelope(body);
    if (!envelope) return truncatedBody(envelope.error());
    visit(Received(envelope->message));
    return {};
  }
  const BriefJson document(body);
  if (!document) return truncatedBody(document.error());
  visit(Received(*document));
  return {};
}

Result<> checkIsList(const json::value& document) {
  const auto* items = find(document, "items");
  if (items && (items->is_array() || items->is_null())) return {};
  return fail(ErrorCode::Unavailable, "the response is not a list: it has no items");
}

Result<ListHead> openList(std::string_view body, std::function<void(const Received&)> visit) {
  ListHead head;
  if (api::isProtobufBody(body)) {
    const auto envelope = api::openEnvelope(body);
    if (!envelope) return fail(envelope.error());
    if (!envelope->kind.ends_with("List"))
      return fail(ErrorCode::Unavailable,
                  fmt::format("the response is not a list but a {}", envelope->kind));
    // Lists have their metadata first and their items second, of whatever kind.
    api::wire::Reader reader(envelope->message);
    api::wire::Field field;
    static const api::MessageField version("ListMeta", {"resourceVersion"}),
        next("ListMeta", {"continue"});
    while (reader.next(field)) {
      if (field.number == 1) {
        head.resourceVersion = version.in(field.bytes);
        head.next = next.in(field.bytes);
      } else if (field.number == 2) {
        visit(Received(field.bytes));
      }
    }
    if (reader.broken()) return fail(reader.error());
    return head;
  }
  const BriefJson document(body);
  if (!document) return fail(document.error());
  if (auto checked = checkIsList(*document); !checked) return fail(std::move(checked.error()));
  if (const auto* items = find(*document, "items"); items->is_array())
    for (const auto& item : items->get_array()) visit(Received(item));
  head.resourceVersion = textAt(*document, "metadata", "resourceVersion");
  head.next = textAt(*document, "metadata", "continue");
  return head;
}

Result<> openEvent(std::string_view event,
                   std::function<void(std::string_view type, const Received&)> visit) {
  // JSON begins with a brace; a message with the tag of the type, which is always there.
  if (event.starts_with('\n')) {
    const auto opened = api::openWatchEvent(event);
    if (!opened) return fail(opened.error());
    return openObject(opened->object, [&](const Received& object) { visit(opened->type, object); });
  }
  const BriefJson document(event);
  if (!document) return fail(document.error());
  if (const auto* object = at(*document, "object"))
    visit(textAt(*document, "type"), Received(*object));
  return {};
}

std::optional<api::Status> statusIn(std::string_view body) {
  if (api::isProtobufBody(body)) {
    const auto envelope = api::openEnvelope(body);
    if (!envelope || envelope->kind != "Status") return std::nullopt;
    auto status = api::readMessage<api::Status>(envelope->message);
    return status ? std::optional(*std::move(status)) : std::nullopt;
  }
  const auto document = parseJson(body);
  if (!document || textAt(*document, "kind") != "Status") return std::nullopt;
  // Proxies and webhooks write these, too: what can be read of it.
  api::Status status;
  status.reason = textAt(*document, "reason");
  status.message = textAt(*document, "message");
  if (const auto* seconds = at(*document, "details", "retryAfterSeconds");
      seconds && seconds->is_int64())
    status.details.emplace().retryAfterSeconds = static_cast<std::int32_t>(seconds->get_int64());
  return status;
}

}  // namespace koord::kube
