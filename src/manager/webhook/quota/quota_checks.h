#pragma once

// Checks a quota against its parent, siblings and children.
//
// The rules of a tree: a quota's parent exists and is marked as a parent; a quota is not its own
// ancestor; all quotas of a tree have the same tree id; parent and children have the same
// resources; the sum of the siblings' min is at most their parent's min. A quota directly below the
// root without children is exempt from the rules about its neighbours.
//
// The checks run in upstream's order, and the first that fails is the answer.

#include "manager/webhook/quota/quota_topology.h"

namespace koord::manager {

class QuotaChecks {
 public:
  // old: the stored state, nullptr for a new quota.
  QuotaChecks(const QuotaTopology& topology, const QuotaRules& rules, const QuotaInfo& quota,
              const QuotaInfo* old, bool hasPods)
      : topology_(topology), rules_(rules), quota_(quota), old_(old), hasPods_(hasPods) {}

  Result<> run() const;

 private:
  bool belowRoot() const;
  Result<> checkBecomingParent() const;
  Result<> checkTree() const;
  Result<> checkParent() const;
  Result<> checkNoCycle() const;
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
