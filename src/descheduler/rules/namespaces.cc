#include "descheduler/rules/namespaces.h"

namespace koord::descheduler {

Namespaces Namespaces::read(Fields& args, std::string_view field) {
  Fields fields = args.object(field);
  Namespaces out;
  for (auto& name : fields.texts("include")) out.include.insert(std::move(name));
  for (auto& name : fields.texts("exclude")) out.exclude.insert(std::move(name));
  fields.refuseUnknown();
  if (!out.include.empty() && !out.exclude.empty())
    args.error(field, "only one of Include/Exclude namespaces can be set");
  return out;
}

json::value Namespaces::document() const {
  if (include.empty() && exclude.empty()) return nullptr;
  json::object out;
  if (!include.empty()) out.emplace("include", json::array(include.begin(), include.end()));
  if (!exclude.empty()) out.emplace("exclude", json::array(exclude.begin(), exclude.end()));
  return out;
}

}  // namespace koord::descheduler
