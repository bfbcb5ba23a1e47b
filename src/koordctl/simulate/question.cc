#include "koordctl/simulate/question.h"

#include <fmt/format.h>

#include "base/quantity.h"

namespace koord::koordctl {

namespace {

constexpr std::string_view kDefaultPods = "110";

}  // namespace

json::value podOf(const json::value& object) {
  if (textAt(object, "kind") == "Pod") return object;
  const json::value* pattern = at(object, "spec", "template");
  if (!pattern || !pattern->is_object()) return nullptr;
  json::object pod = pattern->get_object();
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  json::value& metadata = pod["metadata"];
  if (!metadata.is_object()) metadata = json::object();
  metadata.get_object()["name"] = std::string(textAt(object, "metadata", "name")) + "-simulated";
  metadata.get_object()["namespace"] = textAt(object, "metadata", "namespace");
  return pod;
}

void takePod(json::value& object, const json::value& pod) {
  if (textAt(object, "kind") == "Pod") {
    object = pod;
    return;
  }
  json::value* spec = find(object, "spec");
  json::value* pattern = spec ? find(*spec, "template") : nullptr;
  if (!pattern || !pattern->is_object()) return;
  json::object metadata;
  for (const char* field : {"labels", "annotations"})
    if (const json::value* map = at(pod, "metadata", field)) metadata.emplace(field, *map);
  pattern->get_object()["metadata"] = std::move(metadata);
  if (const json::value* given = find(pod, "spec")) pattern->get_object()["spec"] = *given;
}

std::optional<api::ObjectKey> jobIn(const json::value& object) {
  const bool isJob =
      textAt(object, "kind") == "Job" && textAt(object, "apiVersion").starts_with("batch/");
  const std::string_view name = textAt(object, "metadata", "name");
  if (!isJob || name.empty() || !textAt(object, "metadata", "uid").empty()) return std::nullopt;
  return api::ObjectKey{std::string(textAt(object, "metadata", "namespace")), std::string(name)};
}

void takeJob(json::value& object, const json::value& job) {
  object.get_object()["metadata"].get_object()["uid"] = textAt(job, "metadata", "uid");
  object.get_object()["status"] = memberOf(job, "status");
}

Result<json::object> amountsIn(const std::string& text, const std::string& flag) {
  json::object amounts;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const auto equals = part.find('=');
    const bool valid = equals != part.npos && equals > 0;
    const auto amount = Quantity::parse(valid ? part.substr(equals + 1) : "");
    if (!valid || !amount || amount->sign() < 0)
      return fail(ErrorCode::Invalid,
                  fmt::format("{} \"{}\": expected {}amounts as "
                              "cpu=8,memory=32Gi",
                              flag, text, flag == "--shape" ? "the name of a node, or " : ""));
    amounts[part.substr(0, equals)] = part.substr(equals + 1);
  }
  return amounts;
}

Result<json::value> newNodes(int count, const std::string& shape) {
  if (shape.find('=') == std::string::npos)
    return json::value(json::object{{"count", count}, {"like", shape}});
  auto amounts = amountsIn(shape, "--shape");
  if (!amounts) return fail(std::move(amounts.error()));
  if (!amounts->contains("pods")) (*amounts)["pods"] = kDefaultPods;
  return json::value(json::object{
      {"count", count},
      {"node",
       json::object{{"apiVersion", "v1"},
                    {"kind", "Node"},
                    {"metadata", json::object{}},
                    {"status", json::object{{"capacity", *amounts}, {"allocatable", *amounts}}}}}});
}

Result<json::object> startsIn(const std::vector<std::string>& names,
                              const std::string& namespace_) {
  json::object when;
  for (const std::string& text : names) {
    const auto slash = text.find('/');
    const std::string kind = text.substr(0, slash);
    std::string name = slash == text.npos ? "" : text.substr(slash + 1);
    const bool known = kind == "pod" || kind == "gang" || kind == "quota";
    if (!known || name.empty())
      return fail(ErrorCode::Invalid,
                  fmt::format("--when: \"{}\" must be pod/NAME, gang/NAME or quota/NAME", text));
    if (kind != "quota" && name.find('/') == name.npos) name = namespace_ + "/" + name;
    json::value& list = when[kind + "s"];
    if (!list.is_array()) list = json::array();
    list.get_array().push_back(json::string(name));
  }
  return when;
}

}  // namespace koord::koordctl
