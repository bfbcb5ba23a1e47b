#include "koordlet/qos/sysreconcile/system_config.h"

#include <fmt/format.h>

#include "base/split.h"
#include "koordlet/system/small_file.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::koordlet {
namespace {

constexpr std::string_view kSettingReason = "systemConfig reconcile";

// A feature that this kernel lacks has no word in the file.
bool knowsFeature(std::string_view features, std::string_view name) {
  return hasSchedFeature(features, name) || hasSchedFeature(features, fmt::format("NO_{}", name));
}

}  // namespace

std::vector<SystemSetting> systemSettings(const HostDirs& dirs, const api::SystemStrategy& strategy,
                                          std::int64_t capacity) {
  std::vector<SystemSetting> settings;
  const auto add = [&](std::string path, const std::optional<std::int64_t>& value, std::int64_t min,
                       std::int64_t max) {
    if (value) settings.push_back({std::move(path), *value, min, max});
  };
  std::optional<std::int64_t> freeKbytes;
  if (strategy.minFreeKbytesFactor && capacity > 0)
    freeKbytes = static_cast<std::int64_t>(static_cast<__int128>(capacity / 1024) *
                                           *strategy.minFreeKbytesFactor / 10'000);
  const std::string kernel = dirs.procRoot + "sys/kernel/";
  add(dirs.procRoot + "sys/vm/min_free_kbytes", freeKbytes, 10 << 10, 10 << 20);
  add(dirs.procRoot + "sys/vm/watermark_scale_factor", strategy.watermarkScaleFactor, 10, 400);
  add(dirs.sysRoot + "kernel/mm/memcg_reaper/reap_background", strategy.memcgReapBackGround, 0, 1);
  add(kernel + "sched_group_identity_enabled", strategy.schedGroupIdentityEnabled, 0, 1);
  add(kernel + "sched_idle_saver_wmark", strategy.schedIdleSaverWmark, 0, INT64_MAX);
  add(dirs.sysRoot + "kernel/mm/pagecache_limit/enabled", strategy.pageCacheLimitEnabled, 0, 1);
  return settings;
}

bool hasSchedFeature(std::string_view features, std::string_view wanted) {
  for (auto word = takeWord(features); !word.empty(); word = takeWord(features))
    if (trim(word) == wanted) return true;
  return false;
}

SystemConfig::SystemConfig(const Host& host, const States& states, ResourceExecutor& executor)
    : host_(host), states_(states), executor_(executor) {}

void SystemConfig::apply(const FileUpdate& update) {
  const auto outcome = executor_.updateFile(update);
  if (!outcome) problems_.push_back(outcome.error().message);
}

void SystemConfig::run() {
  problems_.clear();
  if (!states_.slo() || !states_.node()) {
    reason_ = "waiting for the NodeSLO and the Node object";
    return;
  }
  const auto& strategy = states_.slo()->system;
  const std::int64_t capacity =
      model::amountOf(states_.node()->status.capacity, model::kMemory).value();
  const auto settings = systemSettings(host_.dirs, strategy, capacity);
  for (const auto& setting : settings) {
    if (setting.valid()) {
      apply({setting.path, std::to_string(setting.value), std::string(kSettingReason)});
    } else {
      problems_.push_back(fmt::format("{}: {} is not within {}..{}", setting.path, setting.value,
                                      setting.min, setting.max));
    }
  }
  const std::string features = host_.dirs.sysRoot + "kernel/debug/sched_features";
  for (const auto& [name, on] : strategy.schedFeatures) {
    const auto text = readSmallFile(features);
    if (!text || !knowsFeature(*text, name)) {
      problems_.push_back(fmt::format("{}: no feature {}", features, name));
      continue;
    }
    apply({features, on ? name : "NO_" + name, std::string(kSettingReason), "default",
           hasSchedFeature, name});
  }
  reason_ = fmt::format("{} settings", settings.size() + strategy.schedFeatures.size());
  if (!problems_.empty()) reason_ += fmt::format("; {}", fmt::join(problems_, "; "));
}

json::value SystemConfig::view() const {
  return json::object{{"reason", reason_}};
}

}  // namespace koord::koordlet
