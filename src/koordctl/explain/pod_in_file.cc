#include "koordctl/explain/pod_in_file.h"

#include "base/yaml.h"

namespace koord::koordctl {

namespace {

// The pod template of a workload; nullptr if there is none.
const json::value* templateOf(const json::value& object) {
  if (const auto* found = at(object, "spec", "template")) return found;
  return at(object, "spec", "jobTemplate", "spec", "template");  // CronJob
}

}  // namespace

Result<json::value> podInFile(std::string_view yaml, const std::string& namespace_) {
  auto documents = parseYamlDocuments(yaml);
  if (!documents) return fail(std::move(documents.error()));
  for (const auto& document : *documents) {
    const bool isPod = textAt(document, "kind") == "Pod";
    const json::value* source = isPod ? &document : templateOf(document);
    if (!source || !source->is_object()) continue;
    json::object pod = source->get_object();
    pod["apiVersion"] = "v1";
    pod["kind"] = "Pod";
    json::value& metadata = pod["metadata"];
    if (!metadata.is_object()) metadata = json::object();
    auto& fields = metadata.get_object();
    if (textAt(metadata, "name").empty())
      fields["name"] = std::string(textAt(document, "metadata", "name")) + "-explained";
    if (textAt(metadata, "namespace").empty()) {
      const auto own = textAt(document, "metadata", "namespace");
      fields["namespace"] = own.empty() ? namespace_ : std::string(own);
    }
    return json::value(std::move(pod));
  }
  return fail(ErrorCode::Invalid, "contains neither a pod nor a workload with a pod template");
}

}  // namespace koord::koordctl
