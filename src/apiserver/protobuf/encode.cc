#include <algorithm>
#include <map>

#include "apiserver/protobuf/protobuf.h"
#include "apiserver/protobuf/wire.h"
#include "base/time.h"
#include "net/tls.h"

namespace koord::apiserver {
namespace {

using api::Schema;
using Type = Schema::Type;

std::string_view textOf(const json::value& value) {
  return value.is_string() ? std::string_view(value.get_string()) : std::string_view{};
}

class Encoder {
 public:
  bool complete = true;

  std::string message(const json::value& value, const Schema& schema) {
    std::string out;
    const auto* object = value.if_object();
    if (!object) {
      complete = false;
      return out;
    }
    // Fields of structs that are messages of their own though JSON has them here.
    std::map<std::uint32_t, std::string> inner;
    for (const auto& member : *object) {
      const auto* field = schema.field(member.key());
      if (!field || field->wire.empty() || !field->type) {
        if (member.key() != "apiVersion" && member.key() != "kind") complete = false;
        continue;
      }
      auto& place = field->wire.size() == 1 ? out : inner[field->wire.front()];
      put(place, field->wire.back(), member.value(), *field->type);
    }
    for (const auto& [number, bytes] : inner) wire::putBytes(out, number, bytes);
    return out;
  }

 private:
  void put(std::string& out, std::uint32_t number, const json::value& value, const Schema& schema) {
    if (value.is_null()) return;
    switch (schema.type) {
      case Type::String:
        return wire::putBytes(out, number, textOf(value));
      case Type::Bytes: {
        const auto bytes = net::base64Decode(textOf(value));
        if (!bytes) complete = false;
        return wire::putBytes(out, number, bytes ? std::string_view(*bytes) : std::string_view{});
      }
      case Type::Integer:
        return putInteger(out, number, value);
      case Type::Boolean:
        return wire::putNumber(out, number, value.is_bool() && value.get_bool() ? 1 : 0);
      case Type::Number:
        return wire::putDouble(out, number, value.is_number() ? value.to_number<double>() : 0);
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

  void putInteger(std::string& out, std::uint32_t number, const json::value& value) {
    std::int64_t integer = 0;
    if (value.is_int64()) {
      integer = value.get_int64();
    } else if (value.is_double()) {
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
        wire::putBytes(out, 1, value.is_string() ? std::string(textOf(value)) : toJson(value));
        break;
      case Type::IntOrString:
        wire::putNumber(out, 1, value.is_string() ? 1 : 0);
        wire::putNumber(out, 2,
                        value.is_int64() ? static_cast<std::uint64_t>(value.get_int64()) : 0);
        wire::putBytes(out, 3, textOf(value));
        break;
      case Type::Time:
      case Type::MicroTime:
        putTime(out, value);
        break;
      case Type::Duration: {
        const auto duration = parseDuration(textOf(value));
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
    const auto time = parseTime(textOf(value));
    if (!time) {
      complete = false;
      return;
    }
    const auto since = time->time_since_epoch();
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
    wire::putNumber(out, 1, static_cast<std::uint64_t>(seconds.count()));
    wire::putNumber(
        out, 2,
        static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(since - seconds).count()));
  }
};

}  // namespace

std::string sealEnvelope(std::string_view apiVersion, std::string_view kind,
                         std::string_view message) {
  std::string meta;
  wire::putBytes(meta, 1, apiVersion);
  wire::putBytes(meta, 2, kind);
  std::string out("k8s\0", 4);
  wire::putBytes(out, 1, meta);
  wire::putBytes(out, 2, message);
  wire::putBytes(out, 3, "");
  wire::putBytes(out, 4, "");
  return out;
}

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

std::string watchFrame(std::string_view type, std::string_view object) {
  std::string raw;
  wire::putBytes(raw, 1, object);
  std::string event;
  wire::putBytes(event, 1, type);
  wire::putBytes(event, 2, raw);
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(event.size() >> shift);
  return out + event;
}

bool hasWireForm(const Schema& schema) {
  return schema.type == Type::Object &&
         std::ranges::any_of(schema.fields, [](const auto& field) { return !field.wire.empty(); });
}

}  // namespace koord::apiserver
