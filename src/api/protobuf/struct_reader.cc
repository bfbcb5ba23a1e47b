#include <fmt/format.h>

#include <limits>

#include "api/protobuf/plan.h"
#include "api/protobuf/small.h"
#include "api/protobuf/transcode.h"
#include "base/base64.h"
#include "base/time.h"
#include "base/utf8.h"

namespace koord::api {
namespace {

using Form = Slot::Form;

template <class T>
T& as(void* place) {
  return *static_cast<T*>(place);
}

// The depth is that of the structs, which are no trees of unknown height.
class StructReader {
 public:
  Error problem;  // after a false

  bool read(const Plan& plan, std::string_view message, char* object) {
    wire::Reader in(message);
    wire::Field field;
    std::uint32_t last = 0;
    while (in.next(field)) {
      if (field.number >= plan.slots.size()) continue;
      const Slot& slot = plan.slots[field.number];
      if (slot.kind == Slot::Kind::Skip) continue;
      // Items of a list stand side by side: it gets as much room as it needs.
      if (slot.shape && slot.shape->reserve && field.number != last)
        slot.shape->reserve(object + slot.offset, 1 + in.following(field.number));
      last = field.number;
      if (!readSlot(slot, field, object)) return slot.name.empty() ? false : below(slot.name);
    }
    return !in.broken() || failed(in.error());
  }

 private:
  bool failed(Error error) {
    problem = std::move(error);
    return false;
  }
  bool expected(std::string_view what) {
    return failed({ErrorCode::BadRequest, fmt::format("expected {}", what), {}});
  }
  bool refused(std::string message) { return failed({ErrorCode::Invalid, std::move(message), {}}); }
  // Puts the name in front of the path and the message.
  bool below(std::string_view name) {
    problem.message = fmt::format("{}: {}", name, problem.message);
    return false;
  }

  bool readSlot(const Slot& slot, const wire::Field& field, char* object) {
    void* const place = object + slot.offset;
    switch (slot.kind) {
      case Slot::Kind::Skip:
        return true;
      case Slot::Kind::Value:
        return readValue(slot, field, place);
      case Slot::Kind::Optional:
        return readOptional(slot, field, place);
      case Slot::Kind::List:
        return readItem(slot, field, place);
      case Slot::Kind::Map:
        return readEntry(slot, field, place);
      case Slot::Kind::Inner:
        if (field.type != wire::Type::Bytes) return expected("a message");
        return read(*slot.plan, field.bytes, object);
    }
    return true;
  }

  bool readOptional(const Slot& slot, const wire::Field& field, void* place) {
    if (slot.form == Form::Time || slot.form == Form::MicroTime) {
      std::optional<WallTime> time;
      if (!readTime(slot, field, time)) return false;
      if (time) put(slot, *time, slot.shape->add(place, {}));
      return true;
    }
    if (slot.zeroIsAbsent && slot.form != Form::Message && field.value == 0) return true;
    return readValue(slot, field, slot.shape->add(place, {}));
  }

  bool readItem(const Slot& slot, const wire::Field& field, void* place) {
    const bool integers = slot.form == Form::Int32 || slot.form == Form::Int64;
    if (!integers || field.type != wire::Type::Bytes)
      return readValue(slot, field, slot.shape->add(place, {}));
    wire::Reader packed(field.bytes);
    wire::Field item;
    while (!packed.atEnd() && packed.varint(item.value))
      if (!readValue(slot, item, slot.shape->add(place, {}))) return false;
    return !packed.broken() || failed(packed.error());
  }

  bool readEntry(const Slot& slot, const wire::Field& field, void* place) {
    if (field.type != wire::Type::Bytes) return expected("a message");
    wire::Reader entry(field.bytes);
    wire::Field part, value;
    std::string_view key;
    value.type = wire::Type::Bytes;  // left out: empty
    while (entry.next(part)) {
      if (part.number == 1) key = part.bytes;
      if (part.number == 2) value = part;
    }
    if (entry.broken()) return failed(entry.error());
    if (!isUtf8(key)) return refused("expected a string in UTF-8");
    return readValue(slot, value, slot.shape->add(place, key)) || below(fmt::format("[{}]", key));
  }

  bool readValue(const Slot& slot, const wire::Field& field, void* place) {
    switch (slot.form) {
      case Form::String:
        if (!isText(field)) return false;
        as<std::string>(place).assign(field.bytes);
        return true;
      case Form::Text:
        if (!isText(field)) return false;
        as<Text>(place) = field.bytes;
        return true;
      case Form::Base64:
        if (field.type != wire::Type::Bytes) return expected("bytes");
        as<std::string>(place) = base64Encode(field.bytes);
        return true;
      case Form::Int32:
      case Form::Int64:
        return readInteger(slot, field, place);
      case Form::Boolean:
        if (field.type != wire::Type::Varint) return expected("true or false");
        as<bool>(place) = field.value != 0;
        return true;
      case Form::Quantity:
        return readQuantity(field, as<Quantity>(place));
      case Form::IntOrString:
        return readIntOrString(field, as<IntOrString>(place));
      case Form::Time:
      case Form::TimeText:
      case Form::MicroTime: {
        std::optional<WallTime> time;
        if (!readTime(slot, field, time)) return false;
        if (time) put(slot, *time, place);
        return true;
      }
      case Form::Message:
        if (field.type != wire::Type::Bytes) return expected("a message");
        return read(*slot.plan, field.bytes, static_cast<char*>(place));
      case Form::Json: {
        auto done = decodeFieldInto(as<json::value>(place), *slot.schema, field);
        return done || failed(std::move(done.error()));
      }
    }
    return true;
  }

  bool isText(const wire::Field& field) {
    if (field.type != wire::Type::Bytes) return expected("a string");
    return isUtf8(field.bytes) || refused("expected a string in UTF-8");
  }

  bool readInteger(const Slot& slot, const wire::Field& field, void* place) {
    if (field.type != wire::Type::Varint) return expected("an integer");
    const auto value = static_cast<std::int64_t>(field.value);
    if (slot.form == Form::Int64) {
      as<std::int64_t>(place) = value;
      return true;
    }
    using Limits = std::numeric_limits<std::int32_t>;
    if (value < Limits::min() || value > Limits::max())
      return refused(
          fmt::format("{} is not between {} and {}", value, Limits::min(), Limits::max()));
    as<std::int32_t>(place) = static_cast<std::int32_t>(value);
    return true;
  }

  bool readQuantity(const wire::Field& field, Quantity& place) {
    const auto message = wire::Small::read(field);
    if (!message) return failed(message.error());
    const auto text = message->fields[1].bytes;
    auto quantity = text.empty() ? Result<Quantity>(Quantity()) : Quantity::parse(text);
    if (!quantity) return refused(std::move(quantity.error().message));
    place = *std::move(quantity);
    return true;
  }

  bool readIntOrString(const wire::Field& field, IntOrString& place) {
    const auto message = wire::Small::read(field);
    if (!message) return failed(message.error());
    wire::Field number = message->fields[2];
    number.type = wire::Type::Varint;
    place = {};
    place.isText = message->number(1) == 1;
    if (!place.isText) return readInteger({.form = Form::Int32}, number, &place.number);
    const auto text = message->fields[3].bytes;
    place.text = text;
    return isUtf8(text) || refused("expected a string in UTF-8");
  }

  bool readTime(const Slot& slot, const wire::Field& field, std::optional<WallTime>& out) {
    const auto message = wire::Small::read(field);
    if (!message) return failed(message.error());
    auto time = wire::timeOf(*message, slot.form == Form::MicroTime);
    if (!time) return refused(std::move(time.error().message));
    out = *time;
    return true;
  }

  static void put(const Slot& slot, WallTime time, void* place) {
    if (slot.form == Form::TimeText) {
      as<std::string>(place) = formatTime(time);
    } else if (slot.form == Form::MicroTime) {
      as<MicroTime>(place).time = time;
    } else {
      as<WallTime>(place) = time;
    }
  }
};

}  // namespace

Result<> readMessage(std::string_view message, const Plan& plan, void* object) {
  StructReader reader;
  if (reader.read(plan, message, static_cast<char*>(object))) return {};
  return fail(std::move(reader.problem));
}

std::string_view MessageField::in(std::string_view message) const {
  for (const auto number : numbers_) {
    wire::Reader reader(message);
    wire::Field field;
    message = {};
    while (reader.next(field))
      if (field.number == number) message = field.bytes;
    if (message.empty()) return {};
  }
  return message;
}

}  // namespace koord::api
