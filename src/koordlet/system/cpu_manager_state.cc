#include "koordlet/system/cpu_manager_state.h"

#include <fmt/format.h>

#include "base/json.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet {
namespace {

Result<CpuManagerState> parseState(const std::string& text, const std::string& path) {
  CpuManagerState state;
  if (text.empty()) return state;
  auto document = parseJson(text);
  if (!document) return fail(std::move(document.error()).within(path));
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

}  // namespace

Result<> CpuManagerFile::refresh() {
  text_.clear();
  if (pathExists(path_)) {
    auto read = readSmallFile(path_, text_);
    if (!read && read.error().code != ErrorCode::NotFound) return read;
    if (!read) text_.clear();
  }
  if (text_ == parsed_) return {};
  auto state = parseState(text_, path_);
  if (!state) return fail(std::move(state.error()));
  state_ = *std::move(state);
  parsed_.assign(text_);
  return {};
}

Result<CpuManagerState> readCpuManagerState(const HostDirs& dirs) {
  CpuManagerFile file(dirs);
  if (auto read = file.refresh(); !read) return fail(std::move(read.error()));
  return file.state();
}

}  // namespace koord::koordlet
