#include "api/patch/atomic_values.h"

#include <fmt/format.h>

#include "api/patch/typed_fields.h"

namespace koord::api {
namespace {

constexpr std::size_t kMaxPaths = 100;

void findAtomics(const json::value& value, const Schema* schema, const std::string& path,
                 std::vector<std::string>& found) {
  if (found.size() >= kMaxPaths || !(value.is_object() || value.is_array())) return;
  if (isAtomic(schema, value)) found.push_back(path);
  if (const auto* object = value.if_object()) {
    for (const auto& member : *object)
      if (const auto* field = schema ? schema->field(member.key()) : nullptr)
        findAtomics(member.value(), field->type,
                    fmt::format("{}.{}", path, std::string_view(member.key())), found);
  } else if (schema && schema->type == Schema::Type::List) {
    const json::array& list = value.get_array();
    for (std::size_t i = 0; i < list.size(); ++i)
      findAtomics(list[i], schema->items, fmt::format("{}[{}]", path, i), found);
  }
}

}  // namespace

std::vector<std::string> atomicValues(const json::value& value, const Schema* schema) {
  std::vector<std::string> found;
  findAtomics(value, schema, "", found);
  return found;
}

}  // namespace koord::api
