#include "koordlet/resourceexecutor/audit_ring.h"

#include <ranges>

#include "base/time.h"

namespace koord::koordlet {

json::value AuditRing::toJson(std::size_t limit, std::string_view cgroup) const {
  json::array list;
  for (const AuditEntry& entry : entries_ | std::views::reverse) {
    if (list.size() >= limit) break;
    if (entry.cgroup.find(cgroup) == std::string::npos) continue;
    list.push_back(json::object{{"time", formatMicroTime(entry.time)},
                                {"cgroup", entry.cgroup},
                                {"file", entry.file},
                                {"old", entry.before},
                                {"new", entry.after},
                                {"reason", entry.reason}});
  }
  return json::object{{"total", added_}, {"entries", std::move(list)}};
}

}  // namespace koord::koordlet
