#pragma once

// Finds pods that a ClusterColocationProfile matches but was never applied to: they were admitted
// while the webhook did not answer, before the profile existed, or before they or their namespace
// had the labels.
//
// A profile leaves marks on a pod: labels, annotations, the QoS class, the priority within its
// class, the PriorityClass. A pod missed its profiles if it has no mark of any of them. One mark is
// enough: profiles change later, others overwrite their fields, and users edit labels. A profile
// with a probability may have skipped the pod, so it never counts as missed; its marks count for
// other profiles, whose fields it may have overwritten. Cost: a match of two selectors per profile,
// a few microseconds a pod.

#include <functional>
#include <string>
#include <vector>

#include "api/selector.h"
#include "manager/webhook/colocation_profile.h"

namespace koord::manager {

class MissedProfiles {
 public:
  enum class Older {
    Count,      // pods that are older than the profile missed it, too
    DoNotCount  // they were admitted correctly
  };

  MissedProfiles() = default;
  // Profiles with invalid selectors match no pod; `broken` is called with each of them and the
  // error.
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
    api::StringMap labels;  // that it sets, including those of QoS and priority
    bool hasProbability = false;
  };
  static bool hasMarksOf(const Entry& entry, const api::Pod& pod);

  std::vector<Entry> entries_;
};

}  // namespace koord::manager
