#pragma once

// Whether a quota fits between its parent and its children.
//
// The rules of a tree: a quota has one parent, which says that it is one; nobody is its own ancestor;
// a tree has one id from top to bottom; parent and children speak of the same resources; what is
// guaranteed to siblings together is no more than what is guaranteed to their parent. A quota directly
// below the root that nobody is below is free of the rules about its neighbours.
//
// The checks run in upstream's order, and the first that fails is the answer.

#include "manager/webhook/quota/quota_topology.h"

namespace koord::manager {

class QuotaChecks {
 public:
  // old: the stored state, null for a new quota.
  QuotaChecks(const QuotaTopology& topology, const QuotaRules& rules, const QuotaInfo& quota,
              const QuotaInfo* old, bool hasPods)
      : topology_(topology), rules_(rules), quota_(quota), old_(old), hasPods_(hasPods) {}

  Result<> run() const;

 private:
  bool belowRoot() const;
  Result<> checkBecomingParent() const;
  Result<> checkTree() const;
  Result<> checkParent() const;
  Result<> checkNoCircle() const;
  Result<> checkKeys() const;
  Result<> checkKeysOf(const QuotaInfo& parent, const QuotaInfo& child, bool childIsNew) const;
  Result<> checkMins() const;
  Result<> checkGuaranteed() const;
  api::ResourceList minOfChildren(const std::string& parent, std::string_view except) const;

  const QuotaTopology& topology_;
  const QuotaRules& rules_;
  const QuotaInfo& quota_;
  const QuotaInfo* old_;
  bool hasPods_;
};

}  // namespace koord::manager
