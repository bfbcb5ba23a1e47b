#include "api/schema/builtin.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/split.h"

namespace koord::api {
namespace {

// Cuts the text before the separator off `rest`.
std::string_view cut(std::string_view& rest, char separator) {
  const auto end = rest.find(separator);
  const auto head = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  return head;
}

const Schema* typeOf(SchemaSet& set, std::string_view text) {
  using Type = Schema::Type;
  static constexpr std::pair<std::string_view, Type> kPlain[] = {
      {"any", Type::Any},           {"raw", Type::Any},
      {"string", Type::String},     {"int", Type::Integer},
      {"number", Type::Number},     {"bool", Type::Boolean},
      {"quantity", Type::Quantity}, {"intstr", Type::IntOrString},
      {"time", Type::Time},         {"microtime", Type::MicroTime},
      {"duration", Type::Duration}, {"bytes", Type::Bytes}};
  if (text.starts_with('[') || text.starts_with('{')) {
    const auto* items = typeOf(set, text.substr(1, text.size() - 2));
    auto& schema = set.add();
    schema.type = text.starts_with('[') ? Type::List : Type::Map;
    schema.items = items;
    return &schema;
  }
  for (const auto& [name, type] : kPlain) {
    if (name != text) continue;
    auto& schema = set.add();
    schema.type = type;
    schema.raw = text == "raw";
    return &schema;
  }
  auto& schema = set.addNamed(std::string(text));
  schema.type = Type::Object;
  return &schema;
}

// "1.3?" after the "#" of a field's name.
Result<> parseWire(SchemaField& field, std::string_view text) {
  if (text.ends_with('?')) {
    field.pointer = true;
    text.remove_suffix(1);
  }
  while (!text.empty()) {
    const auto part = cut(text, '.');
    std::uint32_t number = 0;
    const auto [end, ec] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (ec != std::errc{} || end != part.data() + part.size() || number == 0)
      return fail(ErrorCode::Invalid, fmt::format("{}: no field number: {}", field.name, part));
    field.wire.push_back(number);
  }
  return {};
}

Result<SchemaField> parseField(SchemaSet& set, std::string_view text) {
  SchemaField field;
  if (text.starts_with('*')) {
    field.required = true;
    text.remove_prefix(1);
  }
  auto name = cut(text, ' ');
  field.name = cut(name, '#');
  if (auto done = parseWire(field, name); !done) return fail(std::move(done.error()));
  text = trim(text);
  const auto type = cut(text, ' ');
  if (field.name.empty() || type.empty())
    return fail(ErrorCode::Invalid, "a field needs a name and a type");
  field.type = typeOf(set, type);
  auto& schema = const_cast<Schema&>(*field.type);  // lists are made for this field alone
  while (!text.empty()) {
    const auto word = cut(text, ' ');
    if (word.starts_with("merge")) {
      field.merge = true;
      if (word.starts_with("merge=")) field.mergeKey = word.substr(6);
      schema.listKind = field.mergeKey.empty() ? Schema::ListKind::Set : Schema::ListKind::Map;
      if (!field.mergeKey.empty() && schema.listKeys.empty()) schema.listKeys = {field.mergeKey};
    } else if (word.starts_with("keys=")) {
      schema.listKind = Schema::ListKind::Map;
      schema.listKeys.clear();
      for (auto keys = word.substr(5); !keys.empty();) schema.listKeys.emplace_back(cut(keys, ','));
    } else if (word == "set") {
      schema.listKind = Schema::ListKind::Set;
    } else if (word == "retainKeys") {
      field.retainKeys = true;
    } else if (word == "replace") {
      field.replace = true;
    } else if (word == "kept") {
      field.kept = true;
    } else if (word == "atomic") {
      schema.atomic = true;
      schema.listKind = Schema::ListKind::Atomic;
    } else if (word.starts_with("default=")) {
      SchemaLimits limits;
      limits.default_ = json::value(json::string_view(word.substr(8)));
      schema.limits = std::make_unique<const SchemaLimits>(std::move(limits));
    } else if (!word.empty()) {
      return fail(ErrorCode::Invalid, fmt::format("{}: unknown word {}", field.name, word));
    }
  }
  return field;
}

Result<> addType(SchemaSet& set, std::string_view text) {
  auto head = trim(cut(text, ':'));
  const std::string name(cut(head, ' '));
  auto& schema = set.addNamed(name);
  if (!head.empty() && head != "atomic")
    return fail(ErrorCode::Invalid, fmt::format("{}: unknown word {}", name, head));
  schema.atomic = !head.empty();
  schema.type = Schema::Type::Object;
  while (!text.empty()) {
    auto line = cut(text, '\n');
    while (!line.empty()) {
      const auto part = trim(cut(line, ';'));
      if (part.empty()) continue;
      auto field = parseField(set, part);
      if (!field) return fail(std::move(field.error()).within(name));
      schema.fields.push_back(*std::move(field));
    }
  }
  std::ranges::sort(schema.fields, {}, &SchemaField::name);
  for (std::uint32_t i = 0; i < schema.fields.size(); ++i)
    if (schema.fields[i].zeroWhenMissing()) schema.zeros.push_back(i);
  return {};
}

}  // namespace

Result<> addTypes(SchemaSet& set, std::string_view table) {
  std::size_t start = 0;
  while (start < table.size()) {
    // A type ends where the next line that is not indented begins.
    std::size_t end = start;
    do {
      end = table.find('\n', end);
      end = end == std::string_view::npos ? table.size() : end + 1;
    } while (end < table.size() && (table[end] == ' ' || table[end] == '\n'));
    const auto block = trim(table.substr(start, end - start));
    if (!block.empty())
      if (auto added = addType(set, block); !added) return added;
    start = end;
  }
  return {};
}

SchemaSet builtinTypes() {
  SchemaSet set;
  for (const char* table :
       {tables::kMeta, tables::kPod, tables::kVolumes, tables::kCore, tables::kWorkloads,
        tables::kOthers, tables::kAdmission, tables::kResource, tables::kReviews})
    addTypes(set, table).value();  // the tables are part of the program; a test reads them all
  return set;
}

}  // namespace koord::api
