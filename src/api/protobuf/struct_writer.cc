#include "api/protobuf/plan.h"
#include "api/protobuf/small.h"
#include "api/protobuf/transcode.h"
#include "base/base64.h"
#include "base/time.h"

namespace koord::api {
namespace {

using Form = Slot::Form;

template <class T>
const T& valueAt(const void* place) {
  return *static_cast<const T*>(place);
}

void writeStruct(const Plan& plan, const char* object, std::string& out);

// What Go's readers take from a field that is not there: nothing is written for it.
bool isZero(const Slot& slot, const void* place) {
  switch (slot.form) {
    case Form::String:
    case Form::Base64:
    case Form::TimeText:
      return valueAt<std::string>(place).empty();
    case Form::Text:
      return valueAt<Text>(place).empty();
    case Form::Int32:
      return valueAt<std::int32_t>(place) == 0;
    case Form::Int64:
      return valueAt<std::int64_t>(place) == 0;
    case Form::Boolean:
      return !valueAt<bool>(place);
    default:
      return false;
  }
}

void writeValue(const Slot& slot, std::uint32_t number, const void* place, std::string& out) {
  std::string message;
  switch (slot.form) {
    case Form::String:
      return wire::putBytes(out, number, valueAt<std::string>(place));
    case Form::Text:
      return wire::putBytes(out, number, valueAt<Text>(place));
    case Form::Base64:
      return wire::putBytes(out, number,
                            base64Decode(valueAt<std::string>(place)).value_or(std::string()));
    case Form::Int32:
      return wire::putNumber(
          out, number,
          static_cast<std::uint64_t>(static_cast<std::int64_t>(valueAt<std::int32_t>(place))));
    case Form::Int64:
      return wire::putNumber(out, number, static_cast<std::uint64_t>(valueAt<std::int64_t>(place)));
    case Form::Boolean:
      return wire::putNumber(out, number, valueAt<bool>(place) ? 1 : 0);
    case Form::Json:
      return encodeField(out, number, valueAt<json::value>(place), *slot.schema);
    case Form::Quantity:
      wire::putBytes(message, 1, valueAt<Quantity>(place).toString());
      break;
    case Form::IntOrString: {
      const auto& value = valueAt<IntOrString>(place);
      wire::putNumber(message, 1, value.isText ? 1 : 0);
      wire::putNumber(message, 2,
                      static_cast<std::uint64_t>(static_cast<std::int64_t>(value.number)));
      wire::putBytes(message, 3, value.text);
      break;
    }
    case Form::Time:
      // Whole seconds, as in JSON.
      wire::putTime(message, std::chrono::floor<std::chrono::seconds>(valueAt<WallTime>(place)));
      break;
    case Form::TimeText:
      if (const auto time = parseTime(valueAt<std::string>(place))) wire::putTime(message, *time);
      break;
    case Form::MicroTime:
      wire::putTime(message,
                    std::chrono::floor<std::chrono::microseconds>(valueAt<MicroTime>(place).time));
      break;
    case Form::Message:
      writeStruct(*slot.plan, static_cast<const char*>(place), message);
      // An empty struct that is a value, not a pointer.
      if (message.empty() && slot.kind == Slot::Kind::Value) return;
      break;
  }
  wire::putBytes(out, number, message);
}

struct Items {
  const Slot& slot;
  std::uint32_t number;
  std::string& out;

  static void visit(void* context, std::string_view key, const void* item) {
    auto& [slot, number, out] = *static_cast<Items*>(context);
    if (slot.kind != Slot::Kind::Map) return writeValue(slot, number, item, out);
    std::string entry;
    wire::putBytes(entry, 1, key);
    writeValue(slot, 2, item, entry);
    wire::putBytes(out, number, entry);
  }
};

void writeStruct(const Plan& plan, const char* object, std::string& out) {
  for (std::uint32_t number = 1; number < plan.slots.size(); ++number) {
    const Slot& slot = plan.slots[number];
    const void* const place = object + slot.offset;
    switch (slot.kind) {
      case Slot::Kind::Skip:
        break;
      case Slot::Kind::Value:
        if (!isZero(slot, place)) writeValue(slot, number, place, out);
        break;
      case Slot::Kind::Optional:
      case Slot::Kind::List:
      case Slot::Kind::Map: {
        Items items{slot, number, out};
        slot.shape->each(place, &items, &Items::visit);
        break;
      }
      case Slot::Kind::Inner: {
        std::string inner;
        writeStruct(*slot.plan, object, inner);
        if (!inner.empty()) wire::putBytes(out, number, inner);
        break;
      }
    }
  }
}

}  // namespace

std::string writeMessage(const void* object, const Plan& plan) {
  std::string out;
  writeStruct(plan, static_cast<const char*>(object), out);
  return out;
}

}  // namespace koord::api
