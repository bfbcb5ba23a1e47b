#include "base/field_help.h"

#include <fmt/format.h>

#include <algorithm>

namespace koord {

namespace {

const FieldHelp* find(std::span<const FieldHelp> help, std::string_view path) {
  const auto found = std::ranges::find(help, path, &FieldHelp::path);
  return found == help.end() ? nullptr : &*found;
}

json::string jsonText(std::string_view value) {
  return json::string(value);
}

}  // namespace

std::vector<std::string> missingHelp(const ObjectHelp& object) {
  std::vector<std::string> missing;
  for (const FieldNote& field : object.fields)
    if (!find(object.help, field.path))
      missing.push_back(fmt::format("{}.{}: has no help", object.name, field.path));
  for (const FieldHelp& help : object.help)
    if (std::ranges::find(object.fields, help.path, &FieldNote::path) == object.fields.end())
      missing.push_back(fmt::format("{}.{}: no code reads this argument", object.name, help.path));
  return missing;
}

json::value toDocument(const ObjectHelp& object) {
  json::array fields;
  for (const FieldNote& field : object.fields) {
    const FieldHelp* help = find(object.help, field.path);
    const FieldHelp words = help ? *help : FieldHelp{};
    json::object entry{{"path", jsonText(field.path)},
                       {"type", jsonText(words.type.empty() ? field.type : words.type)},
                       {"default", jsonText(words.absent.empty() ? field.absent : words.absent)},
                       {"range", jsonText(words.range)},
                       {"unit", jsonText(words.unit)},
                       {"help", jsonText(words.help)},
                       {"example", jsonText(words.example)}};
    if (field.low) entry["low"] = *field.low;
    if (field.high) entry["high"] = *field.high;
    fields.push_back(std::move(entry));
  }
  return json::object{{"name", jsonText(object.name)},
                      {"kind", jsonText(object.kind)},
                      {"version", jsonText(object.version)},
                      {"fields", std::move(fields)}};
}

}  // namespace koord
