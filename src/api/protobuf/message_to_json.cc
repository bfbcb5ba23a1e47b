#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "api/protobuf/small.h"
#include "api/protobuf/transcode.h"
#include "base/base64.h"
#include "base/time.h"
#include "base/utf8.h"

namespace koord::api {
namespace {

using wire::Small;
using Type = Schema::Type;

constexpr int kMaxDepth = 100;

Result<json::value> decodeValue(const wire::Field& field, const Schema& schema, int depth);

std::unexpected<Error> wrongType(std::string_view expected) {
  return fail(ErrorCode::BadRequest, fmt::format("expected {}", expected));
}

Result<json::value> textOf(const wire::Field& field) {
  if (field.type != wire::Type::Bytes) return wrongType("a string");
  if (!isUtf8(field.bytes)) return wrongType("a string in UTF-8");
  return json::value(json::string_view(field.bytes));
}

// Null stands for the zero time, which means "not set".
Result<json::value> timeText(const Small& message, bool micro) {
  const auto time = wire::timeOf(message, micro);
  if (!time) return fail(time.error());
  if (!*time) return json::value{};
  // A time out of range would be stored or returned as another time.
  if (!wire::isInRange(message))
    return fail(ErrorCode::BadRequest, "expected a time between the years 1678 and 2261");
  return json::value(micro ? formatMicroTime(**time) : formatTime(**time));
}

Result<json::value> decodeSmall(const wire::Field& field, const Schema& schema) {
  if (schema.type == Type::Any && !schema.raw)
    return fail(ErrorCode::UnsupportedMediaType,
                "this field cannot be read from protobuf here; send JSON");
  const auto message = Small::read(field);
  if (!message) return fail(message.error());
  switch (schema.type) {
    case Type::Quantity: {
      const auto text = textOf({1, wire::Type::Bytes, 0, message->fields[1].bytes});
      return text && text->get_string().empty() ? json::value("0") : text;
    }
    case Type::IntOrString:
      if (message->number(1) == 1)
        return textOf({3, wire::Type::Bytes, 0, message->fields[3].bytes});
      return json::value(message->number(2));
    case Type::Time:
      return timeText(*message, false);
    case Type::MicroTime:
      return timeText(*message, true);
    case Type::Duration:
      return json::value(formatDuration(Duration(message->number(1))));
    default:
      if (message->fields[1].bytes.empty()) return json::value{};
      return parseJson(message->fields[1].bytes);
  }
}

// A map's entry: key 1, value 2.
Result<> decodeEntry(json::object& map, const wire::Field& field, const Schema& schema, int depth) {
  const auto entry = Small::read(field);
  if (!entry) return fail(entry.error());
  const auto key = textOf({1, wire::Type::Bytes, 0, entry->fields[1].bytes});
  if (!key) return fail(key.error());
  auto value = entry->fields[2];
  const Schema text{};
  if (value.number == 0) value.type = wire::Type::Bytes;  // left out: empty
  auto decoded = decodeValue(value, schema.items ? *schema.items : text, depth);
  if (!decoded) return fail(std::move(decoded.error()));
  map[key->get_string()] = *std::move(decoded);
  return {};
}

bool isZero(const json::value& value) {
  return value.is_null() || (value.is_string() && value.get_string().empty()) ||
         (value.is_int64() && value.get_int64() == 0) || (value.is_bool() && !value.get_bool());
}

// An item of a list or an entry of a map.
Result<> decodeItem(json::value& into, const Schema& type, const wire::Field& in, int depth) {
  if (type.type == Type::Map) {
    if (!into.is_object()) into = json::object{};
    return decodeEntry(into.get_object(), in, type, depth);
  }
  if (!into.is_array()) into = json::array{};
  auto& list = into.get_array();
  if (type.items->type == Type::Integer && in.type == wire::Type::Bytes) {  // packed
    wire::Reader reader(in.bytes);
    std::uint64_t number = 0;
    while (!reader.atEnd() && reader.varint(number))
      list.emplace_back(static_cast<std::int64_t>(number));
    return reader.broken() ? fail(reader.error()) : Result<>{};
  }
  auto item = decodeValue(in, *type.items, depth);
  if (!item) return fail(std::move(item.error()));
  list.push_back(*std::move(item));
  return {};
}

Result<> decodeField(json::object& object, const SchemaField& field, const wire::Field& in,
                     int depth) {
  const auto& type = *field.type;
  if (type.type == Type::Map || type.type == Type::List)
    return decodeItem(object[field.name], type, in, depth);
  auto value = decodeValue(in, type, depth);
  if (!value) return fail(std::move(value.error()));
  // A zero that Go leaves out of JSON. Where it counts the field is a pointer or required.
  const bool counts = field.pointer || field.kept || (field.required && !value->is_string());
  if (value->is_null() || (!counts && isZero(*value))) return {};
  object[field.name] = *std::move(value);
  return {};
}

// Fields whose numbers begin with `prefix` are in this message.
Result<> decodeInto(json::object& object, std::string_view message, const Schema& schema,
                    std::span<const std::uint32_t> prefix, int depth) {
  if (depth > kMaxDepth) return fail(ErrorCode::BadRequest, "messages are nested too deeply");
  wire::Reader reader(message);
  wire::Field in;
  std::vector<std::uint32_t> path(prefix.begin(), prefix.end());
  path.push_back(0);
  while (reader.next(in)) {
    path.back() = in.number;
    for (const auto& field : schema.fields) {
      if (!field.type || field.wire.size() < path.size() ||
          !std::equal(path.begin(), path.end(), field.wire.begin()))
        continue;
      const bool here = field.wire.size() == path.size();
      if (!here && in.type != wire::Type::Bytes) return wrongType("a message");
      auto done = here ? decodeField(object, field, in, depth)
                       : decodeInto(object, in.bytes, schema, path, depth + 1);
      if (!done) return here ? fail(std::move(done.error()).within(field.name)) : done;
      break;
    }
  }
  if (reader.broken()) return fail(reader.error());
  return {};
}

Result<json::value> decodeValue(const wire::Field& field, const Schema& schema, int depth) {
  switch (schema.type) {
    case Type::String:
      return textOf(field);
    case Type::Bytes:
      if (field.type != wire::Type::Bytes) return wrongType("bytes");
      return json::value(base64Encode(field.bytes));
    case Type::Integer:
      if (field.type != wire::Type::Varint) return wrongType("an integer");
      return json::value(static_cast<std::int64_t>(field.value));
    case Type::Boolean:
      if (field.type != wire::Type::Varint) return wrongType("true or false");
      return json::value(field.value != 0);
    case Type::Number: {
      if (field.type != wire::Type::Fixed64) return wrongType("a number");
      const auto number = std::bit_cast<double>(field.value);
      if (!std::isfinite(number)) return wrongType("a finite number");
      return json::value(number);
    }
    case Type::Object: {
      if (field.type != wire::Type::Bytes) return wrongType("a message");
      json::object object;
      if (auto done = decodeInto(object, field.bytes, schema, {}, depth + 1); !done)
        return fail(std::move(done.error()));
      return json::value(std::move(object));
    }
    case Type::Map:
    case Type::List:
      return fail(ErrorCode::UnsupportedMediaType,
                  "this field cannot be read from protobuf here; send JSON");
    default:
      return decodeSmall(field, schema);
  }
}

}  // namespace

Result<json::value> decodeMessage(std::string_view message, const Schema& schema) {
  json::object object;
  if (auto done = decodeInto(object, message, schema, {}, 0); !done)
    return fail(std::move(done.error()));
  return json::value(std::move(object));
}

Result<> decodeFieldInto(json::value& value, const Schema& schema, const wire::Field& field) {
  if (schema.type == Type::Map || schema.type == Type::List)
    return decodeItem(value, schema, field, 0);
  auto decoded = decodeValue(field, schema, 0);
  if (!decoded) return fail(std::move(decoded.error()));
  value = *std::move(decoded);
  return {};
}

}  // namespace koord::api
