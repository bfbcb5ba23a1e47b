#include "koordlet/states/states.h"

namespace koord::koordlet {

const PodView* States::podOf(std::string_view uid) const {
  for (const auto& view : pods_)
    if (view.uid() == uid) return &view;
  return nullptr;
}

void States::setPods(std::vector<PodView> pods) {
  pods_ = std::move(pods);
  podsSynced_ = true;
  ++versions_.pods;
  call(podsFns_);
}

void States::setNode(std::shared_ptr<const api::Node> node) {
  node_ = std::move(node);
  call(nodeFns_);
}

void States::setSlo(EffectiveSlo slo) {
  slo_ = std::move(slo);
  ++versions_.slo;
  call(sloFns_);
}

void States::setGpus(Result<GpuReading> reading, SteadyTime now) {
  if (reading) {
    gpus_ = {*std::move(reading), {}, {}};
    return;
  }
  if (gpus_.problem.empty()) gpus_.problemSince = now;
  gpus_.problem = std::move(reading.error().message);
}

}  // namespace koord::koordlet
