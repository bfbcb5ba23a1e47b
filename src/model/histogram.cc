#include "model/histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/time.h"

namespace koord::model {
namespace {

constexpr std::int64_t kMaxExponent = 100;
constexpr double kMinExponent = -1100;  // below, 2^x is 0
constexpr double kSavedMaximum = 10'000;
constexpr double kGrowth = 1.05;

// The nearest multiple of the half-life since the year 1, which is where Go's clock begins.
WallTime roundTo(WallTime time, Duration unit) {
  constexpr __int128 kYearOneToEpoch = __int128{62'135'596'800} * 1'000'000'000;
  const __int128 since = kYearOneToEpoch + time.time_since_epoch().count();
  const auto rest = Duration(static_cast<std::int64_t>(since % unit.count()));
  return rest + rest < unit ? time - rest : time + (unit - rest);
}

double ratioOf(Duration a, Duration b) {
  return static_cast<double>(a.count()) / static_cast<double>(b.count());
}

// 2^x as Go's math library computes it, to the last bit; of glibc's results one in ten differs in
// it. With samples of one weight a percentile may meet a sum of weights exactly, and then that bit
// decides between two buckets. Computes: x is parted into a whole number k and a rest r of at most
// one half; e^(r ln 2) follows from a rational function with ln 2 in two parts, so that nothing of
// it is lost; k is the exponent. x is at most kMaxExponent and a half. Source: e_exp.c of FreeBSD's
// libm, which Go's is made after.
double exp2LikeGo(double x) {
  constexpr double kLn2High = 6.93147180369123816490e-01;
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  constexpr double kTerms[] = {4.13813679705723846039e-08, -1.65339022054652515390e-06,
                               6.61375632143793436117e-05, -2.77777777770155933842e-03,
                               1.66666666666666657415e-01};
  if (x < kMinExponent) return 0;
  const int whole = static_cast<int>(x > 0 ? x + 0.5 : x - 0.5);
  const double rest = x - whole;
  const double high = rest * kLn2High;
  const double low = -rest * kLn2Low;
  const double r = high - low;
  const double square = r * r;
  double polynomial = 0;
  for (const double term : kTerms) polynomial = term + square * polynomial;
  const double c = r - square * polynomial;
  return std::ldexp(1 - ((low - (r * c) / (2 - c)) - high), whole);
}

double subtracted(double value, double amount, double epsilon) {
  value -= amount;
  return value < epsilon ? 0 : value;
}

}  // namespace

Buckets Buckets::exponential(double max, double first, double ratio) {
  const double last = std::log(max * (ratio - 1) / first + 1) / std::log(ratio);
  return {static_cast<int>(std::ceil(last)) + 1, first, ratio};
}

Buckets Buckets::linear(double max, double width) {
  return {static_cast<int>(std::ceil(max / width)) + 1, width, 1};
}

int Buckets::indexOf(double value) const {
  if (!(value >= first_)) return 0;
  const double index =
      ratio_ == 1 ? value / first_ : std::log(value * (ratio_ - 1) / first_ + 1) / std::log(ratio_);
  return index >= count_ - 1 ? count_ - 1 : static_cast<int>(index);
}

double Buckets::startOf(int index) const {
  if (index <= 0) return 0;
  if (ratio_ == 1) return index * first_;
  return first_ * (std::pow(ratio_, index) - 1) / (ratio_ - 1);
}

Histogram::Histogram(const Buckets& buckets, double epsilon, Duration halfLife)
    : buckets_(&buckets), epsilon_(epsilon), halfLife_(halfLife) {}

double& Histogram::weightIn(int bucket) {
  const auto index = static_cast<std::size_t>(bucket);
  if (index >= weights_.size()) {
    // Just as many as it takes: most pods never come near the largest buckets.
    weights_.reserve(index + 1);
    weights_.resize(index + 1);
  }
  return weights_[index];
}

double& Histogram::weightOf(double value) {
  return weightIn(buckets_->indexOf(value));
}

std::pair<int, int> Histogram::used() const {
  const auto filled = [&](double weight) { return weight >= epsilon_; };
  const auto first = std::ranges::find_if(weights_, filled);
  if (first == weights_.end()) return {1, 0};
  const auto last = std::find_if(weights_.rbegin(), weights_.rend(), filled);
  return {static_cast<int>(first - weights_.begin()), static_cast<int>(weights_.rend() - last) - 1};
}

void Histogram::moveReference(WallTime time) {
  const WallTime moved = roundTo(time, halfLife_);
  if (reference_) {
    const double exponent = std::floor(ratioOf(*reference_ - moved, halfLife_) + 0.5);
    const double factor = std::exp2(exponent);
    for (double& weight : weights_) weight *= factor;
    total_ *= factor;
  }
  reference_ = moved;
}

double Histogram::decayed(double weight, WallTime time) {
  if (halfLife_ <= Duration::zero()) return weight;
  if (!reference_ || time - *reference_ > halfLife_ * kMaxExponent) moveReference(time);
  return weight * exp2LikeGo(ratioOf(time - *reference_, halfLife_));
}

void Histogram::add(double value, double weight, WallTime time) {
  weight = decayed(weight, time);
  weightOf(value) += weight;
  total_ += weight;
}

void Histogram::subtract(double value, double weight, WallTime time) {
  weight = decayed(weight, time);
  total_ = subtracted(total_, weight, epsilon_);
  double& bucket = weightOf(value);
  bucket = subtracted(bucket, weight, epsilon_);
}

bool Histogram::empty() const {
  const auto [first, last] = used();
  return first > last;
}

double Histogram::percentile(double share) const {
  const auto [first, last] = used();
  if (first > last) return 0;
  const double threshold = share * total_;
  double sum = 0;
  int bucket = first;
  for (; bucket < last; ++bucket) {
    sum += weights_[static_cast<std::size_t>(bucket)];
    if (sum >= threshold) break;
  }
  // The last bucket has no end.
  return buckets_->startOf(bucket < buckets_->count() - 1 ? bucket + 1 : bucket);
}

HistogramCheckpoint Histogram::save() const {
  HistogramCheckpoint checkpoint{reference_, {}, total_};
  const auto [first, last] = used();
  if (first > last) return checkpoint;
  const double largest = *std::ranges::max_element(weights_);
  for (int bucket = first; bucket <= last; ++bucket) {
    const double share = weights_[static_cast<std::size_t>(bucket)] * (kSavedMaximum / largest);
    const auto saved = static_cast<std::uint32_t>(std::floor(share + 0.5));
    if (saved > 0) checkpoint.weights[bucket] = saved;
  }
  return checkpoint;
}

Result<> Histogram::load(const HistogramCheckpoint& checkpoint) {
  if (!(checkpoint.total >= 0) || !std::isfinite(checkpoint.total))
    return fail(ErrorCode::Invalid,
                fmt::format("totalWeight: {} is not a weight", checkpoint.total));
  double sum = 0;
  for (const auto& [bucket, weight] : checkpoint.weights) {
    if (bucket < 0 || bucket >= buckets_->count())
      return fail(ErrorCode::Invalid, fmt::format("bucketWeights[{}]: there are {} buckets", bucket,
                                                  buckets_->count()));
    sum += weight;
  }
  reference_ = checkpoint.reference;
  if (sum == 0) return {};
  const double ratio = checkpoint.total / sum;
  for (const auto& [bucket, weight] : checkpoint.weights) weightIn(bucket) += weight * ratio;
  total_ += checkpoint.total;
  return {};
}

json::value toDocument(const HistogramCheckpoint& checkpoint) {
  json::object weights;
  for (const auto& [bucket, weight] : checkpoint.weights) weights[std::to_string(bucket)] = weight;
  return json::object{
      {"referenceTimestamp",
       checkpoint.reference ? formatTime(*checkpoint.reference) : "0001-01-01T00:00:00Z"},
      {"bucketWeights", std::move(weights)},
      {"totalWeight", checkpoint.total}};
}

Result<HistogramCheckpoint> readHistogramCheckpoint(const json::value& document) {
  const auto bad = [](std::string_view what) {
    return fail(ErrorCode::Invalid, std::string(what));
  };
  HistogramCheckpoint checkpoint;
  const auto reference = parseTime(textAt(document, "referenceTimestamp"));
  if (!reference) return bad("referenceTimestamp is not a time");
  if (*reference > WallTime{}) checkpoint.reference = *reference;
  const auto total = realNumber(memberOf(document, "totalWeight"));
  if (!total) return bad("totalWeight is not a number");
  checkpoint.total = *total;
  const auto* weights = find(document, "bucketWeights");
  if (!weights || !weights->is_object()) return bad("bucketWeights is missing");
  for (const auto& [key, value] : weights->get_object()) {
    int bucket = -1;
    std::from_chars(key.data(), key.data() + key.size(), bucket);
    const auto weight = realNumber(value);
    if (!weight || !(*weight >= 0) || *weight > UINT32_MAX)
      return bad("bucketWeights: not a weight");
    checkpoint.weights[bucket] = static_cast<std::uint32_t>(*weight);
  }
  return checkpoint;
}

const Buckets& cpuBuckets() {
  static const Buckets buckets = Buckets::exponential(1024, 0.025, kGrowth);
  return buckets;
}

const Buckets& memoryBuckets() {
  static const Buckets buckets =
      Buckets::exponential(static_cast<double>(std::int64_t{1} << 41), 5 << 20, kGrowth);
  return buckets;
}

}  // namespace koord::model
