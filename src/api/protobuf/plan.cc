#include "api/protobuf/plan.h"

#include <fmt/format.h>

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <span>

#include "api/protobuf/transcode.h"
#include "api/schema/builtin.h"
#include "base/log.h"

namespace koord::api {
namespace {

using Kind = Shape::Kind;

std::optional<Slot::Form> formOf(const Shape& shape, const Schema& schema) {
  using Form = Slot::Form;
  using Type = Schema::Type;
  struct Match {
    Type type;
    Kind kind;
    Form form;
  };
  static constexpr Match kMatches[] = {
      {Type::String, Kind::String, Form::String},
      {Type::String, Kind::Text, Form::Text},
      {Type::Bytes, Kind::String, Form::Base64},
      {Type::Integer, Kind::Int32, Form::Int32},
      {Type::Integer, Kind::Int64, Form::Int64},
      {Type::Boolean, Kind::Boolean, Form::Boolean},
      {Type::Quantity, Kind::Quantity, Form::Quantity},
      {Type::IntOrString, Kind::IntOrString, Form::IntOrString},
      {Type::Time, Kind::Time, Form::Time},
      {Type::Time, Kind::String, Form::TimeText},
      {Type::MicroTime, Kind::MicroTime, Form::MicroTime},
      {Type::Object, Kind::Struct, Form::Message},
  };
  if (shape.kind == Kind::Json) return Form::Json;
  for (const auto& match : kMatches)
    if (match.type == schema.type && match.kind == shape.kind) return match.form;
  return std::nullopt;
}

// All plans of the process. A struct may stand for several types (Condition), so that both make the
// key.
class Plans {
 public:
  Result<const Plan*> of(const Shape& shape, const Schema& schema) {
    const auto [known, isNew] = made_.try_emplace({&shape, &schema}, nullptr);
    if (!isNew) return known->second;
    Plan& plan = *(known->second = &plans_.emplace_back());
    for (const auto& member : shape.members) {
      const auto* field = schema.field(member.name);
      if (!field || !field->type || field->wire.empty()) {
        plan.absent.push_back(member.name);
        continue;
      }
      auto slot = slotOf(member, *field);
      if (!slot) {
        made_.erase(known);
        return fail(std::move(slot.error()).within(member.name));
      }
      put(plan, field->wire, *slot);
    }
    return &plan;
  }

  std::mutex mutex;

 private:
  Result<Slot> slotOf(const Shape::Member& member, const SchemaField& field) {
    Slot slot{.offset = member.offset, .shape = member.shape, .name = member.name};
    const Shape* value = member.shape;
    const Schema* type = field.type;
    switch (value->kind) {
      case Kind::Optional:
        slot.kind = Slot::Kind::Optional;
        // Go leaves such a zero out of JSON; where it counts, the field is a pointer or required.
        slot.zeroIsAbsent = !field.pointer && !field.kept &&
                            (!field.required || field.type->type == Schema::Type::String);
        break;
      case Kind::List:
      case Kind::Map:
        slot.kind = value->kind == Kind::List ? Slot::Kind::List : Slot::Kind::Map;
        type = type->type == (value->kind == Kind::List ? Schema::Type::List : Schema::Type::Map)
                   ? type->items
                   : nullptr;
        break;
      default:
        slot.kind = Slot::Kind::Value;
    }
    if (value->item) value = value->item;
    const auto form = type ? formOf(*value, *type) : std::nullopt;
    if (!form) return fail(ErrorCode::Invalid, "the struct has it in another form than the table");
    slot.form = *form;
    slot.schema = type;
    if (slot.form != Slot::Form::Message) return slot;
    auto plan = of(*value, *type);
    if (!plan) return fail(std::move(plan.error()));
    slot.plan = *plan;
    return slot;
  }

  // Numbers of two levels: the first is that of a message with members of the same struct.
  void put(Plan& plan, std::span<const std::uint32_t> numbers, const Slot& slot) {
    if (plan.slots.size() <= numbers.front()) plan.slots.resize(numbers.front() + 1);
    Slot& place = plan.slots[numbers.front()];
    if (numbers.size() == 1) {
      place = slot;
      return;
    }
    if (place.kind == Slot::Kind::Skip) {
      place.kind = Slot::Kind::Inner;
      place.plan = &plans_.emplace_back();
    }
    put(const_cast<Plan&>(*place.plan), numbers.subspan(1), slot);
  }

  std::map<std::pair<const Shape*, const Schema*>, Plan*> made_;
  std::deque<Plan> plans_;
};

}  // namespace

const SchemaSet& sharedBuiltinTypes() {
  static const SchemaSet types = builtinTypes();
  return types;
}

Result<const Plan*> compilePlan(const Shape& shape, const Schema& schema) {
  static Plans plans;
  const std::lock_guard lock(plans.mutex);
  return plans.of(shape, schema);
}

const Plan* makePlan(const Shape* shape, std::string_view type) {
  const Schema* schema = shape ? sharedBuiltinTypes().find(type) : nullptr;
  if (!schema || !hasWireForm(*schema)) return nullptr;
  const auto plan = compilePlan(*shape, *schema);
  if (plan) return *plan;
  log::error("{} is read from JSON only: {}", type, plan.error().message);
  return nullptr;
}

MessageField::MessageField(std::string_view type, std::initializer_list<std::string_view> path) {
  const Schema* schema = sharedBuiltinTypes().find(type);
  for (const auto name : path) {
    const SchemaField* field = schema->field(name);
    numbers_.insert(numbers_.end(), field->wire.begin(), field->wire.end());
    schema = field->type;
  }
}

}  // namespace koord::api
