#pragma once

// Which taints a pod tolerates.

#include <boost/unordered/unordered_flat_set.hpp>
#include <string_view>

#include "api/core.h"

namespace koord::scheduler {

bool tolerates(const api::Toleration& toleration, const api::Taint& taint);
bool tolerates(const api::List<api::Toleration>& tolerations, const api::Taint& taint);
// Returns true if every NoSchedule and NoExecute taint is tolerated.
bool toleratesAll(const api::List<api::Toleration>& tolerations,
                  const api::List<api::Taint>& taints);

// A pod's tolerations, prepared for checking many taints without walking a long list for each. The
// list must outlive it.
class Tolerations {
 public:
  explicit Tolerations(const api::List<api::Toleration>& list);
  bool tolerate(const api::Taint& taint) const;
  // Returns true if every NoSchedule and NoExecute taint is tolerated.
  bool tolerateAll(const api::List<api::Taint>& taints) const;

 private:
  // The properties of a tolerated taint: its value if compared, its effect and key unless any
  // matches.
  struct Pattern {
    std::string_view key;
    bool anyValue = false;
    std::string_view value;
    std::string_view effect;
    bool operator==(const Pattern&) const = default;
  };
  struct PatternHash {
    std::size_t operator()(const Pattern& pattern) const;
  };

  const api::List<api::Toleration>& list_;
  boost::unordered_flat_set<Pattern, PatternHash> patterns_;  // empty for a short list
  bool anyKey_ = false;                                       // a pattern matches any key
};

}  // namespace koord::scheduler
