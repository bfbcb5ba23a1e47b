#include "scheduler/framework/tentative.h"

#include "scheduler/framework/profile.h"

namespace koord::scheduler {

Status grantTentatively(const Profile& profile, const PodPtr& pod, NodeId node) {
  for (const auto& plugin : profile.reserve) {
    auto* tentative = dynamic_cast<TentativePlugin*>(plugin.point);
    if (!tentative) continue;
    if (Status given = tentative->grant(pod, node); !given.ok()) {
      given.setPlugin(plugin.name);
      return given;
    }
  }
  return {};
}

}  // namespace koord::scheduler
