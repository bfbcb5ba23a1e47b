// The first line is a JSONPath of a printer column, the rest an object.

#include "apiserver/tables/tables.h"

#include "base/json_measure.h"
#include "base/json_path.h"
#include "fuzz.h"

namespace koord::fuzz {

void printerColumns(std::string_view input) {
  const auto [path, rest] = firstLine(input);
  const auto object = parseJson(rest);
  if (!object || !object->is_object()) return;
  const auto size = measureJson(*object);
  if (const auto values = jsonPath(*object, path))
    check(values->size() <= size.values, "no value is selected twice");
  apiserver::ResourceVersion version;
  for (int i = 0; i < 100; ++i)
    version.columns.push_back({"Column", "string", "", 0, std::string(path)});
  const apiserver::TableWriter table({}, version);
  const json::value cells = table.cells(*object, {});
  check(measureJson(cells).bytes <= 6 * (2 * size.bytes + 8'192),
        "a row is not much more than its object");
}

}  // namespace koord::fuzz
