#include "scheduler/forecast/run_model.h"

#include <algorithm>
#include <cmath>

namespace koord::scheduler::forecast {

namespace {

constexpr double kShortest = 1;      // seconds
constexpr double kLongest = 3.2e8;   // ten years; keeps all arithmetic finite
constexpr double kNarrowest = 0.02;  // of a tail: runs that all took the same time
constexpr double kWidest = 2;
constexpr double kDoubt = 3;

double bounded(double age) {
  return std::isfinite(age) ? std::clamp(age, 0.0, kLongest) : 0.0;
}

// The expected distance of the largest of n values of an exponential distribution from its median,
// in units of its mean.
double reachOf(std::size_t n) {
  double sum = 0;
  for (std::size_t i = 1; i <= n; ++i) sum += 1.0 / static_cast<double>(i);
  return std::max(0.5, sum - std::log(2.0));
}

double interpolate(double from, double to, double part) {
  const double low = std::log(std::max(from, kShortest));
  return std::exp(low + part * (std::log(std::max(to, kShortest)) - low));
}

}  // namespace

RunModel::RunModel(std::span<const ObservedRun> runs) {
  std::vector<double> from, to;
  for (const ObservedRun& run : runs) {
    const double end = std::max(bounded(run.to), run.ended ? kShortest : 0.0);
    const double begin = bounded(run.from);
    if (end < begin || (end == begin && begin > 0)) continue;  // never at risk
    if (run.ended) ended_.push_back(end);
    from.push_back(begin);
    to.push_back(end);
  }
  std::ranges::sort(ended_);
  std::ranges::sort(from);
  std::ranges::sort(to);
  const auto below = [](const std::vector<double>& sorted, double age) {
    return std::ranges::lower_bound(sorted, age) - sorted.begin();
  };
  // Equal ages are one after the other, so that all of their probability but one part is at that
  // age.
  for (std::size_t i = 0, same = 0; i < ended_.size(); ++i) {
    const double age = ended_[i];
    same = i > 0 && ended_[i - 1] == age ? same + 1 : 0;
    const auto others = below(from, age) - below(to, age) - static_cast<std::ptrdiff_t>(same);
    const auto atRisk = static_cast<double>(std::max<std::ptrdiff_t>(others, 1));
    steps_.push_back({age, atRisk, 1 - 1 / (atRisk + 1)});
  }
  if (ended_.empty()) return;
  // Few runs do not show how wide the tails are.
  const double few = 1 + kDoubt / static_cast<double>(ended_.size());
  const double reach = reachOf(ended_.size());
  const auto width = [&](double low, double high) {
    return std::clamp(few * std::log(high / low) / reach, kNarrowest, kWidest);
  };
  below_ = width(shortest(), median());
  above_ = width(median(), longest());
}

RunModel RunModel::variant(Random& random) const {
  RunModel other = *this;
  for (Step& step : other.steps_) step.survives = std::pow(1 - random.unit(), 1 / step.atRisk);
  return other;
}

double RunModel::shortest() const {
  return ended_.empty() ? 0 : ended_.front();
}

double RunModel::median() const {
  return ended_.empty() ? 0 : ended_[(ended_.size() - 1) / 2];
}

double RunModel::longest() const {
  return ended_.empty() ? 0 : ended_.back();
}

double RunModel::endAt(double elapsed, double u) const {
  elapsed = bounded(elapsed);
  u = std::clamp(u, 1e-9, 1 - 1e-9);
  double survival = 1;
  double from = elapsed;
  for (const Step& step : steps_) {
    if (step.age <= elapsed) continue;
    const double next = survival * step.survives;
    if (1 - next >= u) {
      const double part = (u - (1 - survival)) / std::max(survival - next, 1e-12);
      // The first interval has no lower end but the elapsed time.
      if (&step == &steps_.front()) {
        const double past = std::pow(std::min(1.0, elapsed / step.age), 1 / below_);
        const double rest = std::max(past + std::clamp(part, 0.0, 1.0) * (1 - past), 1e-9);
        return std::max({kShortest, elapsed, step.age * std::pow(rest, below_)});
      }
      return std::max(elapsed, interpolate(from, step.age, std::clamp(part, 0.0, 1.0)));
    }
    survival = next;
    from = step.age;
  }
  const double last = steps_.empty() ? elapsed : std::max(from, steps_.back().age);
  const double known = steps_.empty() ? elapsed : steps_.back().age;
  const double beyond = elapsed > known ? std::log(elapsed / std::max(known, kShortest)) : 0.0;
  const double left = (1 - u) / std::max(survival, 1e-12);  // of the tail, in (0, 1]
  const double width = std::min(kWidest, std::max(above_, beyond));
  return std::min(kLongest,
                  std::max(elapsed, last) * std::exp(-width * std::log(std::min(left, 1.0))));
}

}  // namespace koord::scheduler::forecast
