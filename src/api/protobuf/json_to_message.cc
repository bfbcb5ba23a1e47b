#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "api/protobuf/small.h"
#include "api/protobuf/transcode.h"
#include "base/base64.h"
#include "base/time.h"

namespace koord::api {
namespace {

using Type = Schema::Type;

std::string_view textIn(const json::value& value) {
  return value.is_string() ? std::string_view(value.get_string()) : std::string_view{};
}

class Encoder {
  // A message, and the messages in it whose fields JSON has in the object itself.
  struct Level {
    std::string bytes;
    std::map<std::uint32_t, Level> inner;
  };
  static std::string bytesOf(Level level) {
    for (auto& [number, inner] : level.inner)
      wire::putBytes(level.bytes, number, bytesOf(std::move(inner)));
    return std::move(level.bytes);
  }

 public:
  bool complete = true;

  std::string message(const json::value& value, const Schema& schema) {
    const auto* object = value.if_object();
    if (!object) {
      complete = false;
      return {};
    }
    Level top;
    for (const auto& member : *object) {
      const auto* field = schema.field(member.key());
      if (!field || field->wire.empty() || !field->type) {
        if (member.key() != "apiVersion" && member.key() != "kind") complete = false;
        continue;
      }
      Level* level = &top;
      for (const std::uint32_t number : std::span(field->wire).first(field->wire.size() - 1))
        level = &level->inner[number];
      put(level->bytes, field->wire.back(), member.value(), *field->type);
    }
    return bytesOf(std::move(top));
  }

  void put(std::string& out, std::uint32_t number, const json::value& value, const Schema& schema) {
    if (value.is_null()) return;
    switch (schema.type) {
      case Type::String:
        complete = complete && value.is_string();
        return wire::putBytes(out, number, textIn(value));
      case Type::Bytes: {
        const auto bytes = base64Decode(textIn(value));
        if (!bytes) complete = false;
        return wire::putBytes(out, number, bytes ? std::string_view(*bytes) : std::string_view{});
      }
      case Type::Integer:
        return putInteger(out, number, value);
      case Type::Boolean:
        complete = complete && value.is_bool();
        return wire::putNumber(out, number, value.is_bool() && value.get_bool() ? 1 : 0);
      case Type::Number:
        return wire::putDouble(out, number, realNumber(value).value_or(0));
      case Type::Object:
        return wire::putBytes(out, number, message(value, schema));
      case Type::List:
        if (const auto* list = value.if_array(); list && schema.items)
          for (const auto& item : *list) put(out, number, item, *schema.items);
        return;
      case Type::Map:
        if (const auto* map = value.if_object(); map && schema.items)
          for (const auto& member : *map) {
            std::string entry;
            wire::putBytes(entry, 1, member.key());
            put(entry, 2, member.value(), *schema.items);
            wire::putBytes(out, number, entry);
          }
        return;
      default:
        return wire::putBytes(out, number, small(value, schema));
    }
  }

 private:
  void putInteger(std::string& out, std::uint32_t number, const json::value& value) {
    std::int64_t integer = 0;
    if (value.is_int64()) {
      integer = value.get_int64();
    } else if (value.is_double() && std::abs(value.get_double()) < 0x1p63) {
      integer = static_cast<std::int64_t>(value.get_double());
    } else {
      complete = false;
    }
    wire::putNumber(out, number, static_cast<std::uint64_t>(integer));
  }

  std::string small(const json::value& value, const Schema& schema) {
    std::string out;
    switch (schema.type) {
      case Type::Quantity:
        wire::putBytes(out, 1, value.is_string() ? std::string(textIn(value)) : toJson(value));
        break;
      case Type::IntOrString:
        wire::putNumber(out, 1, value.is_string() ? 1 : 0);
        wire::putNumber(out, 2,
                        value.is_int64() ? static_cast<std::uint64_t>(value.get_int64()) : 0);
        wire::putBytes(out, 3, textIn(value));
        break;
      case Type::Time:
      case Type::MicroTime:
        putTime(out, value);
        break;
      case Type::Duration: {
        const auto duration = parseDuration(textIn(value));
        if (!duration) complete = false;
        wire::putNumber(out, 1, duration ? static_cast<std::uint64_t>(duration->count()) : 0);
        break;
      }
      default:
        if (!schema.raw) complete = false;
        if (schema.raw) wire::putBytes(out, 1, toJson(value));
    }
    return out;
  }

  void putTime(std::string& out, const json::value& value) {
    const auto time = parseTime(textIn(value));
    if (!time) {
      complete = false;
      return;
    }
    wire::putTime(out, *time);
  }
};

}  // namespace

Encoded encodeMessage(const json::value& object, const Schema& schema) {
  Encoder encoder;
  auto message = encoder.message(object, schema);
  return {std::move(message), encoder.complete};
}

Encoded encodeList(const json::value& list, const Schema& listMeta, const Schema& item) {
  Encoder encoder;
  Encoded out;
  if (const auto* metadata = find(list, "metadata"))
    wire::putBytes(out.message, 1, encoder.message(*metadata, listMeta));
  if (const auto* items = find(list, "items"); items && items->is_array())
    for (const auto& one : items->get_array())
      wire::putBytes(out.message, 2, encoder.message(one, item));
  out.complete = encoder.complete;
  return out;
}

void encodeField(std::string& out, std::uint32_t number, const json::value& value,
                 const Schema& schema) {
  Encoder().put(out, number, value, schema);
}

bool hasWireForm(const Schema& schema) {
  return schema.type == Type::Object &&
         std::ranges::any_of(schema.fields, [](const auto& field) { return !field.wire.empty(); });
}

}  // namespace koord::api
