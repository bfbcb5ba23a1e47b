#pragma once

// Converts Kubernetes objects between protocol buffers ("application/vnd.kubernetes.protobuf") and
// JSON. The table of api/schema has the types and their field numbers, so this works for any kind
// of the table. For our own structs, structs.h avoids JSON.
//
// Structs that Go inlines are separate messages here; quantities, times and raw JSON are small
// messages (small.h).

#include <string>
#include <string_view>

#include "api/protobuf/envelope.h"
#include "api/protobuf/wire.h"
#include "api/schema/schema.h"

namespace koord::api {

// The message as JSON, without apiVersion and kind. Skips fields with unknown numbers, as every
// reader does. A known field without a description here is an error, and so are bytes that are not
// a message.
Result<json::value> decodeMessage(std::string_view message, const Schema& schema);
// Reads one occurrence of a field of this type: appends to lists and maps, replaces other values.
Result<> decodeFieldInto(json::value& value, const Schema& schema, const wire::Field& field);

struct Encoded {
  std::string message;
  bool complete = true;  // false: omitted a field that has no form in protocol buffers here
};
Encoded encodeMessage(const json::value& object, const Schema& schema);
// Encodes a list: its metadata and its items, all of one type.
Encoded encodeList(const json::value& list, const Schema& listMeta, const Schema& item);
// Appends the value as a field with this number.
void encodeField(std::string& out, std::uint32_t number, const json::value& value,
                 const Schema& schema);

// True if the type has a form in protocol buffers.
bool hasWireForm(const Schema& schema);

}  // namespace koord::api
