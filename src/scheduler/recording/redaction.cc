#include "scheduler/recording/redaction.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <vector>

#include "api/protobuf/envelope.h"
#include "api/protobuf/plan.h"
#include "api/protobuf/wire.h"
#include "api/schema/schema.h"
#include "base/json.h"

namespace koord::scheduler::recording {

namespace {

namespace wire = api::wire;

constexpr std::string_view kApplied = "kubectl.kubernetes.io/last-applied-configuration";
constexpr std::array<std::string_view, 3> kContainerLists = {"containers", "initContainers",
                                                             "ephemeralContainers"};
constexpr std::array<std::string_view, 8> kLeftOut = {
    "command",       "args",           "env",          "envFrom",
    "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"};
// Occurs in every JSON text with one of kContainerLists.
constexpr std::string_view kListEnd = "ontainers\"";

bool isContainer(const api::Schema& type) {
  return type.name == "Container" || type.name == "EphemeralContainer";
}

// What to leave out of the messages of a type.
struct Cut {
  std::vector<std::uint32_t> dropped;
  std::map<std::uint32_t, std::shared_ptr<const Cut>> inside;  // fields that are messages
  std::uint32_t annotations = 0;                               // a map without kApplied; 0 = none

  bool empty() const { return dropped.empty() && inside.empty() && annotations == 0; }
};

// Compiles the cuts of types from the table of the built-in kinds.
class Cuts {
 public:
  // By kind: those of the kind and those of its lists.
  std::map<std::string, std::shared_ptr<const Cut>, std::less<>> all() {
    std::map<std::string, std::shared_ptr<const Cut>, std::less<>> kinds;
    for (const auto& [name, type] : types_.named()) {
      const api::SchemaField* metadata = type->field("metadata");
      const auto inner = metadata ? of(*type) : nullptr;
      if (!inner) continue;
      auto whole = std::make_shared<Cut>(*inner);
      auto annotations = std::make_shared<Cut>();
      annotations->annotations = metadata->type->field("annotations")->wire.front();
      whole->inside[metadata->wire.front()] = std::move(annotations);
      auto list = std::make_shared<Cut>();
      list->inside[kItems] = whole;
      kinds[name + "List"] = std::move(list);
      kinds[name] = std::move(whole);
    }
    return kinds;
  }

 private:
  static constexpr std::uint32_t kItems = 2;  // of every list

  // nullptr if nothing is left out.
  std::shared_ptr<const Cut> of(const api::Schema& type) {
    const auto [known, isNew] = made_.try_emplace(&type);
    if (!isNew) return known->second;  // a type within itself has no containers
    Cut cut;
    for (const api::SchemaField& field : type.fields) {
      if (field.wire.empty()) continue;
      if (isContainer(type) && std::ranges::find(kLeftOut, field.name) != kLeftOut.end()) {
        drop(cut, field.wire);
        continue;
      }
      const api::Schema* value = field.type;
      if (value->type == api::Schema::Type::List) value = value->items;
      if (!value || value->type != api::Schema::Type::Object) continue;
      if (auto inner = of(*value)) cut.inside[field.wire.front()] = std::move(inner);
    }
    return made_[&type] = cut.empty() ? nullptr : std::make_shared<const Cut>(std::move(cut));
  }

  // Fields of inlined structs have two numbers.
  static void drop(Cut& cut, const std::vector<std::uint32_t>& numbers) {
    if (numbers.size() == 1) return cut.dropped.push_back(numbers.front());
    auto& inner = cut.inside[numbers.front()];
    auto more = std::make_shared<Cut>(inner ? *inner : Cut{});
    more->dropped.push_back(numbers[1]);
    inner = std::move(more);
  }

  const api::SchemaSet& types_ = api::sharedBuiltinTypes();
  std::map<const api::Schema*, std::shared_ptr<const Cut>> made_;
};

const Cut* cutOf(std::string_view kind) {
  static const auto all = Cuts().all();
  const auto found = all.find(kind);
  return found == all.end() ? nullptr : found->second.get();
}

bool isAppliedAnnotation(std::string_view entry) {
  wire::Reader reader(entry);
  wire::Field field;
  while (reader.next(field))
    if (field.number == 1) return field.bytes == kApplied;
  return false;
}

void putField(std::string& out, const wire::Field& field) {
  if (field.type == wire::Type::Bytes) return wire::putBytes(out, field.number, field.bytes);
  if (field.type == wire::Type::Varint) return wire::putNumber(out, field.number, field.value);
  wire::putVarint(out, std::uint64_t{field.number} << 3 | static_cast<std::uint64_t>(field.type));
  const int bits = field.type == wire::Type::Fixed64 ? 64 : 32;
  for (int shift = 0; shift < bits; shift += 8) out += static_cast<char>(field.value >> shift);
}

// Appends the message without what is cut; false if it is malformed.
bool cutMessage(const Cut& cut, std::string_view message, std::string& out) {
  wire::Reader reader(message);
  wire::Field field;
  while (reader.next(field)) {
    if (std::ranges::find(cut.dropped, field.number) != cut.dropped.end()) continue;
    const auto inner = cut.inside.find(field.number);
    if (inner != cut.inside.end() && field.type == wire::Type::Bytes) {
      std::string rest;
      if (!cutMessage(*inner->second, field.bytes, rest)) return false;
      wire::putBytes(out, field.number, rest);
    } else if (field.number != cut.annotations || !isAppliedAnnotation(field.bytes)) {
      putField(out, field);
    }
  }
  return !reader.broken();
}

std::string_view cutBody(std::string_view body, std::string& storage) {
  const auto envelope = api::openEnvelope(body);
  const Cut* cut = envelope ? cutOf(envelope->kind) : nullptr;
  std::string message;
  if (!cut || !cutMessage(*cut, envelope->message, message)) return body;
  storage = api::sealEnvelope(envelope->apiVersion, envelope->kind, message);
  return storage;
}

std::string_view cutEvent(std::string_view event, std::string& storage) {
  const auto opened = api::openWatchEvent(event);
  if (!opened) return event;
  std::string body;
  if (const auto rest = cutBody(opened->object, body); rest.data() == opened->object.data())
    return event;
  storage = api::watchFrame(opened->type, body).substr(api::kFrameHead);
  return storage;
}

// The order of the members stays, so that texts with and without these fields end up the same.
void cutJson(json::value& value) {
  if (auto* array = value.if_array())
    for (json::value& item : *array) cutJson(item);
  auto* object = value.if_object();
  if (!object) return;
  for (const std::string_view name : kContainerLists) {
    json::value* list = object->if_contains(name);
    if (!list || !list->is_array()) continue;
    for (json::value& container : list->get_array())
      if (auto* members = container.if_object())
        for (const std::string_view member : kLeftOut) members->stable_erase(member);
  }
  if (auto* annotations = object->if_contains("annotations");
      annotations && annotations->is_object())
    annotations->get_object().stable_erase(kApplied);
  for (auto& member : *object) cutJson(member.value());
}

}  // namespace

std::string_view redacted(std::string_view text, std::string& storage) {
  if (api::isProtobufBody(text)) return cutBody(text, storage);
  if (text.starts_with('\n')) return cutEvent(text, storage);  // as in kube::openEvent
  if (text.find(kListEnd) == text.npos) return text;
  auto document = parseJson(text);
  if (!document) return text;
  cutJson(*document);
  storage = toJson(*document);
  return storage;
}

}  // namespace koord::scheduler::recording
