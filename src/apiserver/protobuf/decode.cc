#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>

#include "apiserver/protobuf/protobuf.h"
#include "apiserver/protobuf/wire.h"
#include "base/time.h"
#include "base/utf8.h"
#include "net/tls.h"

namespace koord::apiserver {
namespace {

using api::Schema;
using api::SchemaField;
using Type = Schema::Type;

constexpr std::string_view kMagic{"k8s\0", 4};
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

// The fields of a small message by number; what is not there is zero or "".
struct Small {
  std::array<wire::Field, 4> fields;

  static Result<Small> read(const wire::Field& field) {
    if (field.type != wire::Type::Bytes) return wrongType("a message");
    Small out;
    for (wire::Reader reader(field.bytes); !reader.atEnd();) {
      auto next = reader.next();
      if (!next) return fail(std::move(next.error()));
      if (next->number < out.fields.size()) out.fields[next->number] = *next;
    }
    return out;
  }
  std::int64_t number(std::size_t i) const { return static_cast<std::int64_t>(fields[i].value); }
};

// Null stands for the zero time, which is no time.
Result<json::value> timeOf(const Small& message, bool micro) {
  const auto seconds = message.number(1);
  const auto nanos = message.number(2);
  if (seconds == 0 && nanos >= 0 && nanos < (micro ? 1'000 : 1'000'000'000)) return json::value{};
  constexpr std::int64_t kYear1 = -62135596800, kYear1678 = -9214560000, kYear2262 = 9214646400;
  if (seconds == kYear1 && nanos == 0) return json::value{};
  if (seconds < kYear1678 || seconds >= kYear2262 || nanos < 0 || nanos >= 1'000'000'000)
    return wrongType("a time between the years 1678 and 2261");
  const WallTime time{std::chrono::duration_cast<WallTime::duration>(
      std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanos))};
  return json::value(micro ? formatMicroTime(time) : formatTime(time));
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
      return timeOf(*message, false);
    case Type::MicroTime:
      return timeOf(*message, true);
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

Result<> decodeField(json::object& object, const SchemaField& field, const wire::Field& in,
                     int depth) {
  const auto& type = *field.type;
  if (type.type == Type::Map) {
    auto& map = object[field.name];
    if (!map.is_object()) map = json::object{};
    return decodeEntry(map.get_object(), in, type, depth);
  }
  if (type.type == Type::List) {
    auto& list = object[field.name];
    if (!list.is_array()) list = json::array{};
    if (type.items->type == Type::Integer && in.type == wire::Type::Bytes) {  // packed
      for (wire::Reader reader(in.bytes); !reader.atEnd();) {
        const auto number = reader.varint();
        if (!number) return fail(number.error());
        list.get_array().emplace_back(static_cast<std::int64_t>(*number));
      }
      return {};
    }
    auto item = decodeValue(in, *type.items, depth);
    if (!item) return fail(std::move(item.error()));
    list.get_array().push_back(*std::move(item));
    return {};
  }
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
  for (wire::Reader reader(message); !reader.atEnd();) {
    const auto in = reader.next();
    if (!in) return fail(in.error());
    std::vector<std::uint32_t> path(prefix.begin(), prefix.end());
    path.push_back(in->number);
    for (const auto& field : schema.fields) {
      if (!field.type || field.wire.size() < path.size() ||
          !std::equal(path.begin(), path.end(), field.wire.begin()))
        continue;
      const bool here = field.wire.size() == path.size();
      if (!here && in->type != wire::Type::Bytes) return wrongType("a message");
      auto done = here ? decodeField(object, field, *in, depth)
                       : decodeInto(object, in->bytes, schema, path, depth + 1);
      if (!done) return here ? fail(std::move(done.error()).within(field.name)) : done;
      break;
    }
  }
  return {};
}

Result<json::value> decodeValue(const wire::Field& field, const Schema& schema, int depth) {
  switch (schema.type) {
    case Type::String:
      return textOf(field);
    case Type::Bytes:
      if (field.type != wire::Type::Bytes) return wrongType("bytes");
      return json::value(net::base64Encode(field.bytes));
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

Result<Envelope> openEnvelope(std::string_view body) {
  if (!body.starts_with(kMagic))
    return fail(ErrorCode::BadRequest,
                "the body is not a Kubernetes protobuf message: it does not begin with \"k8s\"");
  Envelope out;
  for (wire::Reader reader(body.substr(kMagic.size())); !reader.atEnd();) {
    const auto field = reader.next();
    if (!field) return fail(field.error());
    if (field->number == 1) {
      const auto meta = Small::read(*field);
      if (!meta) return fail(meta.error());
      out.apiVersion = meta->fields[1].bytes;
      out.kind = meta->fields[2].bytes;
    } else if (field->number == 2) {
      out.message = field->bytes;
    }
  }
  return out;
}

Result<json::value> decodeMessage(std::string_view message, const Schema& schema) {
  json::object object;
  if (auto done = decodeInto(object, message, schema, {}, 0); !done)
    return fail(std::move(done.error()));
  return json::value(std::move(object));
}

}  // namespace koord::apiserver
