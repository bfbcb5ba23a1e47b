#include "descheduler/rules/arguments.h"

namespace koord::descheduler {

EvictionScope EvictionScope::read(Fields& args) {
  EvictionScope scope;
  scope.namespaces = Namespaces::read(args, "evictableNamespaces");
  scope.nodes = readArgsSelector(args, "nodeSelector");
  scope.pods = PodSelectors::read(args);
  return scope;
}

json::object givenOf(Fields& args, std::initializer_list<std::string_view> names) {
  json::object given;
  for (const std::string_view name : names)
    if (const json::value* value = args.raw(name)) given.emplace(name, *value);
  return given;
}

}  // namespace koord::descheduler
