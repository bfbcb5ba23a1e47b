#include "apiserver/server/match.h"

#include <fmt/format.h>

#include <algorithm>

namespace koord::apiserver {
namespace {

std::string_view param(const kube::Request& request, std::string_view name) {
  const auto it = request.query.find(name);
  return it == request.query.end() ? std::string_view{} : std::string_view(it->second);
}

}  // namespace

Outcome<Match> Match::compile(const kube::Request& request, const Target& target) {
  Match match;
  match.inNamespace_ = target.resource->namespaced ? request.namespace_ : "";
  match.name_ = request.name;
  if (const auto text = param(request, "labelSelector"); !text.empty()) {
    auto labels = api::Selector::parse(text);
    if (!labels)
      return refuse(ErrorCode::BadRequest,
                    fmt::format("unable to parse labelSelector: {}", labels.error().message));
    match.labels_ = *std::move(labels);
  }
  const auto text = param(request, "fieldSelector");
  if (text.empty()) return match;
  auto fields = api::FieldSelector::parse(text);
  if (!fields) return refuse(std::move(fields.error()));
  for (const auto& requirement : fields->requirements()) {
    Field field{0, {}, requirement.equal, requirement.value};
    if (requirement.field == "metadata.name") {
      field.index = -1;
      if (requirement.equal && match.name_.empty()) match.name_ = requirement.value;
    } else if (requirement.field == "metadata.namespace" && target.resource->namespaced) {
      field.index = -2;
      if (requirement.equal && match.inNamespace_.empty()) match.inNamespace_ = requirement.value;
    } else {
      const auto& offered = target.resource->selectableFields;
      const auto it = std::ranges::find(offered, requirement.field);
      if (it == offered.end())
        return refuse(ErrorCode::BadRequest,
                      fmt::format("field label not supported: {}", requirement.field));
      field.index = static_cast<int>(it - offered.begin());
      field.path = requirement.field;
      if (target.resource->custom) match.custom_ = target.stored;
    }
    match.fields_.push_back(std::move(field));
  }
  return match;
}

bool Match::operator()(const Entry& entry) const {
  if (!inNamespace_.empty() && entry.namespace_() != inNamespace_) return false;
  if (!name_.empty() && entry.name() != name_) return false;
  if (!labels_.matches(entry.labels)) return false;
  const auto object = custom_ ? parseJson(entry.bareText()) : Result<json::value>();
  for (const auto& field : fields_) {
    std::string found;
    if (field.index >= 0 && custom_ && object)
      found = selectableValue(*object, *custom_, field.path);
    const std::string_view value =
        field.index == -1   ? entry.name()
        : field.index == -2 ? entry.namespace_()
        : custom_           ? std::string_view(found)
                            : std::string_view(entry.fields[static_cast<std::size_t>(field.index)]);
    if ((value == field.value) != field.equal) return false;
  }
  return true;
}

}  // namespace koord::apiserver
