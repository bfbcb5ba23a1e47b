#pragma once

// ClusterColocationProfile: which profiles match a pod, and what they make of it.

#include <functional>
#include <memory>
#include <vector>

#include "api/config.h"
#include "api/core.h"
#include "api/schema/schema.h"
#include "base/random.h"
#include "base/result.h"

namespace koord::manager {

using ProfilePtr = std::shared_ptr<const api::ClusterColocationProfile>;

// The profiles whose selectors match, in the order of their names. A profile with a selector that
// cannot be read matches nothing; its name and error go to `broken`.
std::vector<ProfilePtr> matchProfiles(const std::vector<ProfilePtr>& profiles,
                                      const api::StringMap& namespaceLabels,
                                      const api::StringMap& podLabels,
                                      std::vector<std::string>* broken = nullptr);

// For objects outside of namespaces: what profiles say of these does not count.
std::vector<ProfilePtr> matchProfilesByLabels(const std::vector<ProfilePtr>& profiles,
                                              const api::StringMap& labels,
                                              std::vector<std::string>* broken = nullptr);

// Whether the namespace's labels have a say in which profiles match such a pod.
bool dependsOnNamespace(const std::vector<ProfilePtr>& profiles, const api::StringMap& podLabels);

// nullptr when there is no such class.
using PriorityClassLookup = std::function<const api::PriorityClass*(std::string_view name)>;

// What profiles are applied to.
enum class ProfileTarget {
  NewPod,
  ExistingPod,  // its scheduler and its priority are what they are
  Reservation,  // what is about the pod's spec goes to its template, if it has one
};

// What applying a profile takes besides the object.
struct ProfileContext {
  PriorityClassLookup priorityClass;
  const api::Schema& schema;  // says how lists of a patch merge
  Random& random;
  ProfileTarget target = ProfileTarget::NewPod;
};

struct ProfileOutcome {
  bool skipResources = false;  // some profile asks to leave requests and limits alone
};

// Applies one profile, whatever its probability.
Result<> applyProfile(const api::ClusterColocationProfileSpec& spec, const ProfileContext& context,
                      json::value& object);
// Whether the profile is for this one; decided by chance.
Result<bool> drawn(const api::ClusterColocationProfile& profile, Random& random);

// Applies matching profiles in order, each with its probability: later ones see what earlier ones
// did. On an error (a missing priority class, a patch that does not apply) the object must not be
// used.
Result<ProfileOutcome> applyProfiles(const std::vector<ProfilePtr>& matching,
                                     const ProfileContext& context, json::value& object);

}  // namespace koord::manager
