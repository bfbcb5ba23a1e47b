#pragma once

// A histogram with exponential decay: a sample that is one half-life old counts half. It answers
// "how much does this pod need at its busiest", where yesterday says more than last week.
//
// The weight of a sample does not decrease as it ages; instead new samples weigh more, 2^(age of
// the reference time / half-life), which yields the same percentiles without touching old buckets.
// Before the weights become too large for a double, the reference time advances and all weights are
// scaled once.
//
// Bucket widths grow by a constant ratio, so that the relative error of a percentile is the same
// for small and large values. A percentile is the upper end of its bucket, never less than the true
// value. Adding is O(1), a percentile O(buckets). Source: Kubernetes' vertical pod autoscaler,
// whose rules and constants upstream uses.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/executor.h"
#include "base/json.h"
#include "base/result.h"

namespace koord::model {

class Buckets {
 public:
  // Bucket i is `ratio` times as wide as bucket i - 1; the last bucket contains all values above
  // `max`.
  static Buckets exponential(double max, double first, double ratio);
  static Buckets linear(double max, double width);

  int count() const { return count_; }
  int indexOf(double value) const;
  double startOf(int index) const;

 private:
  Buckets(int count, double first, double ratio) : count_(count), first_(first), ratio_(ratio) {}
  int count_;
  double first_;
  double ratio_;  // 1 = linear
};

// A saved histogram: weights as shares of the largest weight, which is 10,000.
struct HistogramCheckpoint {
  std::optional<WallTime> reference;
  std::map<int, std::uint32_t> weights;  // by bucket; omits weights of 0
  double total = 0;
};

class Histogram {
 public:
  // `buckets` must outlive the histogram. Weights below `epsilon` count as zero. A zero half-life
  // means no decay.
  Histogram(const Buckets& buckets, double epsilon, Duration halfLife);

  void add(double value, double weight, WallTime time);
  void subtract(double value, double weight, WallTime time);
  bool empty() const;
  // The smallest bucket end that the given share (0..1) of the weight is below; 0 if empty.
  double percentile(double share) const;

  HistogramCheckpoint save() const;
  // Loads into an empty histogram. Fails if the checkpoint does not fit the buckets.
  Result<> load(const HistogramCheckpoint& checkpoint);

 private:
  double decayed(double weight, WallTime time);
  void moveReference(WallTime time);
  // First and last bucket that are not empty; first > last if all are empty.
  std::pair<int, int> used() const;
  double& weightOf(double value);
  double& weightIn(int bucket);

  const Buckets* buckets_;
  double epsilon_;
  Duration halfLife_;
  std::optional<WallTime> reference_;  // a multiple of the half-life
  std::vector<double> weights_;        // by bucket, up to the largest that was used
  double total_ = 0;
};

// A checkpoint as a document, as upstream's koordlet and the vertical pod autoscaler write it:
// {"referenceTimestamp": "...", "bucketWeights": {"22": 10000}, "totalWeight": 12.5}. The error
// names the field.
json::value toDocument(const HistogramCheckpoint& checkpoint);
Result<HistogramCheckpoint> readHistogramCheckpoint(const json::value& document);

// The buckets for pod usage: they grow by 5 %, from 0.025 to 1,024 cores and from 5 MiB to 2 TiB.
// Weights below kEmptyWeight do not count.
const Buckets& cpuBuckets();
const Buckets& memoryBuckets();
inline constexpr double kEmptyWeight = 1e-4;

}  // namespace koord::model
