#include "apiserver/rules/list_kind.h"

#include "cel/json_object.h"

namespace koord::apiserver {

std::string SchemaListKind::keyOf(const cel::Value& element) const {
  if (isSet()) {
    // Texts are quoted, so that "1" is not 1.
    if (!element.is(cel::Kind::List) && !element.is(cel::Kind::Map) &&
        !element.is(cel::Kind::Object))
      return element.toString();
    const auto json = element.toJson();
    return json ? toJson(*json) : json.error().message;
  }
  std::string keys;
  const json::object* members = cel::jsonMembers(element);
  for (const std::string& key : keys_) {
    if (members) {
      const auto* value = members->if_contains(key);
      keys += value ? toJson(*value) : "null";
    } else if (element.is(cel::Kind::Map)) {
      const auto value = element.mapFind(cel::Value::stringView(key));
      keys += value ? value->toString() : "null";
    }
    keys += ',';
  }
  return keys;
}

}  // namespace koord::apiserver
