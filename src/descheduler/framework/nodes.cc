#include "descheduler/framework/nodes.h"

#include <algorithm>

namespace koord::descheduler {

bool isReady(const api::Node& node) {
  return std::ranges::all_of(node.status.conditions, [](const api::NodeCondition& condition) {
    return condition.type != "Ready" || condition.status == "True";
  });
}

}  // namespace koord::descheduler
