#pragma once

// Builds the profiles of a configuration: merges plugin sets with the defaults, makes every plugin
// once per profile with its arguments, and arranges them by extension point.

#include "scheduler/config/types.h"
#include "scheduler/framework/profile.h"
#include "scheduler/framework/registry.h"

namespace koord::scheduler {

// Validation errors are added to `errors` by field path; the result must not be used then.
std::unique_ptr<Profile> buildProfile(const ProfileConfig& config, const Registry& registry,
                                      Handle& handle, std::vector<std::string>& errors);

// The order of plugins at every point, for users: "filter: NodeName, NodeAffinity, ...".
std::string describePlugins(const Profile& profile);

}  // namespace koord::scheduler
