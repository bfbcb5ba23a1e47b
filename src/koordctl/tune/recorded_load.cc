#include "koordctl/tune/recorded_load.h"

#include <cmath>

#include "koordctl/colocation/distributions.h"
#include "koordctl/colocation/machine_model.h"

namespace koord::koordctl {

namespace {

constexpr double kMostThrottled = 0.01;  // of the periods

// NaN counts as 0.
double valueAt(const std::vector<float>& values, std::size_t step, double share) {
  const auto known = [&](std::size_t n) {
    const double value = values[n % values.size()];
    return std::isnan(value) ? 0 : value;
  };
  return known(step) * (1 - share) + known(step + 1) * share;
}

}  // namespace

bool isThrottledAlone(const colocation::Parameters& parameters, const colocation::ServicePod& pod,
                      double demand) {
  return colocation::throttlingOf(parameters, demand, pod.limit, 0).share > kMostThrottled;
}

RecordedLoad::RecordedLoad(const colocation::Parameters& parameters, const Recording& recording,
                           Random random)
    : parameters_(parameters), recording_(recording), random_(random) {
  const std::size_t steps = recording.series.empty() ? 1 : recording.series.front().cores.size();
  offset_ = static_cast<double>(random_.below(steps)) * recording.every;
  noise_.resize(recording.pods.size());
  for (double& value : noise_) value = colocation::normal(random_);
  demand_.resize(recording.pods.size());
  memory_.resize(recording.pods.size());
  moveTo(0);
}

void RecordedLoad::moveTo(double seconds) {
  const double elapsed = seconds - now_;
  now_ = seconds;
  const double kept = std::exp(-elapsed / (parameters_.noiseMinutes * 60));
  const double added = std::sqrt(1 - kept * kept);
  const double position = (offset_ + seconds) / recording_.every;
  const auto step = static_cast<std::size_t>(position);
  const double share = position - static_cast<double>(step);
  for (std::size_t n = 0; n < recording_.pods.size(); ++n) {
    if (elapsed > 0) noise_[n] = kept * noise_[n] + added * colocation::normal(random_);
    const UsageSeries& series = recording_.series[n];
    demand_[n] =
        valueAt(series.cores, step, share) * colocation::lognormal(noise_[n], parameters_.noise);
    memory_[n] = valueAt(series.gib, step, share);
  }
}

}  // namespace koord::koordctl
