#include "koordlet/system/cpu_manager_state.h"

#include <fmt/format.h>

#include "base/json.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet {

Result<CpuManagerState> readCpuManagerState(const HostDirs& dirs) {
  const std::string path = dirs.varLibKubelet + "cpu_manager_state";
  const auto text = readSmallFile(path);
  if (!text && text.error().code == ErrorCode::NotFound) return CpuManagerState{};
  if (!text) return fail(text.error());
  if (text->empty()) return CpuManagerState{};
  auto document = parseJson(*text);
  if (!document) return fail(std::move(document.error()).within(path));
  CpuManagerState state;
  state.policy = textAt(*document, "policyName");
  const auto* entries = find(*document, "entries");
  if (!entries || !entries->is_object()) return state;
  for (const auto& [uid, containers] : entries->get_object()) {
    if (!containers.is_object()) continue;
    for (const auto& [name, cpus] : containers.get_object()) {
      const auto parsed = cpus.is_string() ? CpuSet::parse(std::string_view(cpus.get_string()))
                                           : Result<CpuSet>(fail(ErrorCode::Invalid, "no text"));
      if (!parsed)
        return fail(ErrorCode::Invalid,
                    fmt::format("{}: entries[{}][{}]: {}", path, std::string_view(uid),
                                std::string_view(name), parsed.error().message));
      CpuSet& owned = state.owned[std::string(uid)];
      owned = owned.unionWith(*parsed);
    }
  }
  return state;
}

}  // namespace koord::koordlet
