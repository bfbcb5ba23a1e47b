#include "apiserver/objects/edit.h"

namespace koord::apiserver {

void setCondition(json::object& status, json::object condition) {
  auto& list = status["conditions"];
  if (!list.is_array()) list = json::array{};
  for (auto& item : list.get_array())
    if (textAt(item, "type") == std::string_view(memberOf(condition, "type").get_string())) {
      item = std::move(condition);
      return;
    }
  list.get_array().push_back(std::move(condition));
}

}  // namespace koord::apiserver
