#pragma once

// Which pods a ClusterColocationProfile is for and yet never met: they were admitted while nobody answered for the
// webhook, before the profile was there, or before they or their namespace had the labels.
//
// A profile leaves marks on a pod: labels, annotations, the QoS class, the priority within its class, the PriorityClass.
// A pod missed its profiles when it bears no mark of any of them. One mark is proof enough: profiles change later, others
// overwrite what they set, and people edit labels. A profile that is applied by chance may rightly have left a pod alone,
// so that it is never missed; its marks count for the others that it may have overwritten. Cost: a match of two selectors
// per profile, a few microseconds a pod.

#include <functional>
#include <string>
#include <vector>

#include "api/selector.h"
#include "manager/webhook/colocation_profile.h"

namespace koord::manager {

class MissedProfiles {
 public:
  enum class Older {
    Count,      // pods that were there before the profile missed it, too
    DoNotCount  // nothing went wrong when these were admitted
  };

  MissedProfiles() = default;
  // Profiles with selectors that cannot be read are for nobody; `broken` is told which these are, and why.
  using Broken = std::function<void(const api::ClusterColocationProfile& profile, const Error&)>;
  explicit MissedProfiles(const std::vector<ProfilePtr>& profiles, const Broken& broken = nullptr);

  // The names of the profiles that this pod missed, in order.
  std::vector<std::string> of(const api::Pod& pod, const api::StringMap& namespaceLabels,
                              Older older) const;

 private:
  struct Entry {
    ProfilePtr profile;
    api::Selector namespaces;
    api::Selector pods;
    api::StringMap labels;  // that it sets, those of QoS and priority included
    bool byChance = false;
  };
  static bool bearsMarkOf(const Entry& entry, const api::Pod& pod);

  std::vector<Entry> entries_;
};

}  // namespace koord::manager
