#include "console/questions/simulation_request.h"

#include <algorithm>
#include <iterator>

#include "base/yaml.h"
#include "model/manifest.h"

namespace koord::console {

namespace {

// null for a text of white space.
Result<json::value> configurationIn(const json::value& text) {
  if (!text.is_string()) return fail(ErrorCode::Invalid, "must be a text");
  const std::string_view yaml = text.get_string();
  if (yaml.find_first_not_of(" \t\r\n") == yaml.npos) return json::value();
  auto document = parseYaml(yaml);
  if (!document) return document;
  if (!document->is_object()) return fail(ErrorCode::Invalid, "must be an object");
  return document;
}

}  // namespace

Result<json::object> simulationSpec(const std::string& request, const std::string& namespace_) {
  auto document = parseJson(request);
  if (!document) return fail(std::move(document.error()).within("the question"));
  const json::value* manifest = find(*document, "manifest");
  if (!manifest || !manifest->is_string())
    return fail(ErrorCode::Invalid, "manifest: must be a text");
  json::value* spec = find(*document, "spec");
  if (!spec || !spec->is_object()) return fail(ErrorCode::Invalid, "spec: must be an object");
  if (find(*spec, "objects"))
    return fail(ErrorCode::Invalid, "spec.objects: the manifest has the objects");
  if (find(*spec, "configuration"))
    return fail(ErrorCode::Invalid, "spec.configuration: the text configuration has it");
  auto objects = model::objectsIn(std::string_view(manifest->get_string()), namespace_);
  if (!objects) return fail(std::move(objects.error()).within("manifest"));
  json::array list;
  std::ranges::move(*objects, std::back_inserter(list));
  json::object& out = spec->get_object();
  out["objects"] = std::move(list);
  if (const json::value* text = find(*document, "configuration")) {
    auto configuration = configurationIn(*text);
    if (!configuration) return fail(std::move(configuration.error()).within("configuration"));
    if (!configuration->is_null()) out["configuration"] = *std::move(configuration);
  }
  return std::move(out);
}

}  // namespace koord::console
