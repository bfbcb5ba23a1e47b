#include "scheduler/framework/audit.h"

namespace koord::scheduler {

WorkloadAudit* auditOf(SharedStates& shared) {
  return shared.of<AuditSlot>([] { return std::make_unique<AuditSlot>(); }).audit;
}

}  // namespace koord::scheduler
