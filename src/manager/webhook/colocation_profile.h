#pragma once

// ClusterColocationProfile: matching profiles to pods, and applying them.

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

// The profiles whose selectors match, in the order of their names. A profile with an invalid
// selector matches nothing; `broken` is called with its name and error.
std::vector<ProfilePtr> matchProfiles(const std::vector<ProfilePtr>& profiles,
                                      const api::StringMap& namespaceLabels,
                                      const api::StringMap& podLabels,
                                      std::vector<std::string>* broken = nullptr);

// For cluster-scoped objects: ignores the profiles' namespace selectors.
std::vector<ProfilePtr> matchProfilesByLabels(const std::vector<ProfilePtr>& profiles,
                                              const api::StringMap& labels,
                                              std::vector<std::string>* broken = nullptr);

// Returns true if the namespace's labels decide which profiles match such a pod.
bool dependsOnNamespace(const std::vector<ProfilePtr>& profiles, const api::StringMap& podLabels);

// nullptr if the class does not exist.
using PriorityClassLookup = std::function<const api::PriorityClass*(std::string_view name)>;

// What profiles are applied to.
enum class ProfileTarget {
  NewPod,
  ExistingPod,  // its scheduler and priority cannot change
  Reservation,  // changes of the pod's spec go to its template, if it has one
};

// The inputs for applying a profile, in addition to the object.
struct ProfileContext {
  PriorityClassLookup priorityClass;
  const api::Schema& schema;  // gives the merge rules of a patch's lists
  Random& random;
  ProfileTarget target = ProfileTarget::NewPod;
};

struct ProfileOutcome {
  bool skipResources = false;  // a profile asks to leave requests and limits unchanged
};

// Applies one profile, without regard to its probability.
Result<> applyProfile(const api::ClusterColocationProfileSpec& spec, const ProfileContext& context,
                      json::value& object);
// Decides at random, by the profile's probability, whether it applies.
Result<bool> passesProbability(const api::ClusterColocationProfile& profile, Random& random);

// Applies matching profiles in order, each with its probability: later ones see the changes of
// earlier ones. On an error (a missing priority class, a patch that does not apply) the object must
// not be used.
Result<ProfileOutcome> applyProfiles(const std::vector<ProfilePtr>& matching,
                                     const ProfileContext& context, json::value& object);

}  // namespace koord::manager
