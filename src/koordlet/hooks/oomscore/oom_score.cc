#include "koordlet/hooks/oomscore/oom_score.h"

#include <fmt/core.h>

#include "base/json.h"
#include "base/log.h"
#include "koordlet/system/small_file.h"
#include "model/well_known.h"

namespace koord::koordlet {
namespace {

constexpr std::int64_t kLimit = 1000;

std::optional<int> inRange(std::int64_t score) {
  if (score < -kLimit || score > kLimit) return std::nullopt;
  return static_cast<int>(score);
}

}  // namespace

std::optional<int> oomScoreOf(const PodView& pod, std::string_view container) {
  const auto& annotations = pod.pod->metadata.annotations;
  if (const auto* text = api::findIn(annotations, model::kAnnotationOomScoreAdjSpec)) {
    const auto document = parseJson(*text);
    const auto* score = document ? find(*document, container) : nullptr;
    if (score && score->is_int64()) return inRange(score->get_int64());
    if (document) return std::nullopt;
    log::v(4, "annotation {} of pod {} is ignored: {}", model::kAnnotationOomScoreAdjSpec,
           pod.pod->metadata.name, document.error().message);
  }
  const auto* text = api::findIn(annotations, model::kAnnotationOomScoreAdj);
  const auto score = text ? parseInt(*text) : fail(ErrorCode::NotFound, "");
  return score ? inRange(*score) : std::nullopt;
}

OomScoreHook::OomScoreHook(const Host& host, ScoreFn onScore)
    : host_(host), onScore_(std::move(onScore)) {}

void OomScoreHook::wanted(const PodView& pod, HookUpdates& updates) {
  for (const auto& container : pod.containers) {
    const auto score = oomScoreOf(pod, container.name);
    if (!score || container.dir.empty()) continue;
    if (onScore_) onScore_(pod, container.name, *score);
    const auto path = cgroupFilePath(host_.layout, CgroupFile::Procs, container.dir);
    const auto processes = path ? readSmallFile(*path) : fail(path.error());
    if (!processes) continue;
    forEachLine(*processes, [&](std::string_view line) {
      const auto pid = parseInt(line);
      if (pid && *pid > 0)
        updates.files.push_back({fmt::format("{}{}/oom_score_adj", host_.dirs.procRoot, *pid),
                                 std::to_string(*score), "OOMScoreAdj"});
    });
  }
}

}  // namespace koord::koordlet
