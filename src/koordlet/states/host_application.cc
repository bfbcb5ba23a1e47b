#include "koordlet/states/host_application.h"

#include "model/qos.h"

namespace koord::koordlet {
namespace {

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

}  // namespace koord::koordlet
