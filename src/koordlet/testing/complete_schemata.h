#pragma once

// The kernel's side of a resctrl schemata file: a written line changes the caches that it names,
// and a read shows all of them. Call this for each change that an AuditRing reports
// (AuditRing::onAdd).

#include "koordlet/resourceexecutor/audit_ring.h"
#include "koordlet/system/resctrl.h"
#include "koordlet/testing/temp_tree.h"

namespace koord::koordlet {

inline void completeSchemata(TempTree& tree, const AuditEntry& write) {
  if (write.file != "schemata" || !write.cgroup.starts_with(tree.path())) return;
  auto schemata = *resctrl::parseSchemata(write.before);
  const auto written = *resctrl::parseSchemata(write.after);
  for (const auto& [id, mask] : written.l3) schemata.l3[id] = mask;
  for (const auto& [id, share] : written.mb) schemata.mb[id] = share;
  tree.write(write.cgroup.substr(tree.path().size()) + write.file,
             resctrl::l3Line(schemata.l3) + resctrl::mbLine(schemata.mb));
}

}  // namespace koord::koordlet
