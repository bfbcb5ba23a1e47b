#pragma once

// Kubernetes objects as protocol buffers ("application/vnd.kubernetes.protobuf") to and from JSON.
// The types come from the table of api/schema, which has the numbers of the fields, so any kind of
// the table can be read and written.
//
// A body is "k8s\0" and an envelope with apiVersion, kind and the message. Structs that Go inlines
// are messages of their own here; quantities, times and raw JSON are small messages.

#include <optional>
#include <string>
#include <string_view>

#include "api/schema/schema.h"

namespace koord::apiserver {

struct Envelope {
  std::string apiVersion;
  std::string kind;
  std::string_view message;  // a part of the body
};

Result<Envelope> openEnvelope(std::string_view body);
std::string sealEnvelope(std::string_view apiVersion, std::string_view kind,
                         std::string_view message);

// The message as JSON, without apiVersion and kind. Fields with unknown numbers are left out, as
// they are by every reader; a field that is known but has no description here is an error, as are
// bytes that are no message.
Result<json::value> decodeMessage(std::string_view message, const api::Schema& schema);

struct Encoded {
  std::string message;
  bool complete = true;  // false: some field has no form in protocol buffers here and was left out
};
Encoded encodeMessage(const json::value& object, const api::Schema& schema);
// A list: its metadata and its items, all of one type.
Encoded encodeList(const json::value& list, const api::Schema& listMeta, const api::Schema& item);

// One event of a watch with its length in front. `object` is a whole body.
std::string watchFrame(std::string_view type, std::string_view object);

// Whether the type can be sent at all.
bool hasWireForm(const api::Schema& schema);

}  // namespace koord::apiserver
