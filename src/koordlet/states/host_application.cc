#include "koordlet/states/host_application.h"

#include <unistd.h>

#include "base/log.h"
#include "koordlet/system/small_file.h"
#include "model/qos.h"

namespace koord::koordlet {
namespace {

constexpr int kPassesToReset = 10;

std::string dirOf(const api::HostApplicationSpec& application, CgroupDriver driver) {
  if (!application.cgroupPath) {
    const auto qos = model::parseQos(application.qos);
    if (qos == model::Qos::BE) return joinPath("host-best-effort", application.name);
    if (qos == model::Qos::LSE || qos == model::Qos::LSR || qos == model::Qos::LS)
      return joinPath("host-latency-sensitive", application.name);
    return application.name;
  }
  const auto& path = *application.cgroupPath;
  std::string base;
  if (path.base == "Kubepods") base = kubepodsDir(driver);
  if (path.base == "KubepodsBurstable") base = qosDir(driver, KubeQos::Burstable);
  if (path.base == "KubepodsBesteffort") base = qosDir(driver, KubeQos::BestEffort);
  return joinPath(joinPath(base, path.parentDir), path.relativePath);
}

}  // namespace

std::string hostApplicationDir(const api::HostApplicationSpec& application, CgroupDriver driver) {
  std::string dir = dirOf(application, driver);
  // Names come from a ConfigMap; they must not lead out of the hierarchy.
  if (dir.find("..") != std::string::npos) dir.clear();
  return dir;
}

NamedApplications::NamedApplications(std::string file) : file_(std::move(file)) {
  const auto text = file_.empty() ? fail(ErrorCode::NotFound, "") : readSmallFile(file_);
  if (!text) return;
  forEachLine(*text, [&](std::string_view line) {
    if (!line.empty() && line.find("..") == std::string_view::npos)
      passes_.emplace(std::string(line), 0);
  });
}

void NamedApplications::save() {
  if (file_.empty()) return;
  std::string text;
  for (const auto& [dir, passes] : passes_) text += dir + "\n";
  const auto written = replaceFile(file_, text);
  if (!written && saved_)
    log::warn("host applications are not kept over restarts: {}", written.error().message);
  saved_ = written.has_value();
}

std::vector<std::string> NamedApplications::dropped(const std::set<std::string>& named) {
  bool changed = !saved_;
  for (const auto& dir : named) changed = passes_.insert_or_assign(dir, 0).second || changed;
  std::vector<std::string> dropped;
  for (auto it = passes_.begin(); it != passes_.end();) {
    auto& [dir, passes] = *it;
    if (!named.contains(dir) && ++passes > kPassesToReset) {
      it = passes_.erase(it);
      changed = true;
      continue;
    }
    if (passes > 0) dropped.push_back(dir);
    ++it;
  }
  if (changed) save();
  return dropped;
}

}  // namespace koord::koordlet
