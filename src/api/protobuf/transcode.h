#pragma once

// Kubernetes objects as protocol buffers ("application/vnd.kubernetes.protobuf") to and from JSON.
// The types come from the table of api/schema, which has the numbers of the fields, so any kind of
// the table can be read and written. For our own structs there is structs.h, without JSON between.
//
// Structs that Go inlines are messages of their own here; quantities, times and raw JSON are small
// messages (small.h).

#include <string>
#include <string_view>

#include "api/protobuf/envelope.h"
#include "api/protobuf/wire.h"
#include "api/schema/schema.h"

namespace koord::api {

// The message as JSON, without apiVersion and kind. Fields with unknown numbers are left out, as
// they are by every reader; a field that is known but has no description here is an error, as are
// bytes that are no message.
Result<json::value> decodeMessage(std::string_view message, const Schema& schema);
// One occurrence of a field of this type: adds to lists and maps, else replaces the value.
Result<> decodeFieldInto(json::value& value, const Schema& schema, const wire::Field& field);

struct Encoded {
  std::string message;
  bool complete = true;  // false: some field has no form in protocol buffers here and was left out
};
Encoded encodeMessage(const json::value& object, const Schema& schema);
// A list: its metadata and its items, all of one type.
Encoded encodeList(const json::value& list, const Schema& listMeta, const Schema& item);
// Appends the value as a field with this number.
void encodeField(std::string& out, std::uint32_t number, const json::value& value,
                 const Schema& schema);

// Whether the type can be sent at all.
bool hasWireForm(const Schema& schema);

}  // namespace koord::api
