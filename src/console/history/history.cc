#include "console/history/history.h"

#include <algorithm>

namespace koord::console {

namespace {

constexpr std::uint64_t kDropEvery = 240;

// The values of the series with this name; nullptr if there is none.
template <class T>
const Series<T>* seriesIn(const std::unordered_map<std::string, Series<T>>& all,
                          std::string_view name) {
  const auto found = all.find(std::string(name));
  return found == all.end() ? nullptr : &found->second;
}

}  // namespace

const std::vector<std::string>& History::clusterColumns() {
  static const std::vector<std::string> columns = {"cpuCapacity",
                                                   "cpuRequested",
                                                   "cpuUsed",
                                                   "cpuBatch",
                                                   "cpuBatchRequested",
                                                   "cpuBatchUsed",
                                                   "memoryCapacity",
                                                   "memoryRequested",
                                                   "memoryUsed",
                                                   "memoryBatch",
                                                   "memoryBatchRequested",
                                                   "memoryBatchUsed",
                                                   "pods",
                                                   "pending",
                                                   "gpus",
                                                   "gpusRequested"};
  return columns;
}

const std::vector<std::string>& History::quotaColumns() {
  static const std::vector<std::string> columns = {"cpuUsed",    "cpuRuntime",    "cpuRequest",
                                                   "memoryUsed", "memoryRuntime", "memoryRequest"};
  return columns;
}

const std::vector<std::string>& History::nodeColumns() {
  static const std::vector<std::string> columns = {"cpuUsed", "memoryUsed", "batchUsed", "batch"};
  return columns;
}

void History::add(WallTime now, const Step& step) {
  const std::int64_t time =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  if (next_ > 0 && time < times_[(next_ - 1) % kSamples]) first_ = next_;
  times_[next_ % kSamples] = time;
  cluster_.add(next_, step.cluster);
  for (const auto& [name, sample] : step.nodes)
    nodes_.try_emplace(name, nodeColumns().size(), kSamples).first->second.add(next_, sample);
  for (const auto& [name, sample] : step.quotas) {
    if (quotas_.size() >= kMostQuotas && !quotas_.contains(name)) continue;
    quotas_.try_emplace(name, quotaColumns().size(), kSamples).first->second.add(next_, sample);
  }
  ++next_;
  if (next_ % kDropEvery == 0) dropOld();
}

void History::dropOld() {
  const auto old = [this](const auto& item) { return item.second.last() + kSamples < next_; };
  std::erase_if(nodes_, old);
  std::erase_if(quotas_, old);
}

template <class T>
json::value History::read(const Series<T>& series, const std::vector<std::string>& columns,
                          std::int64_t seconds, std::size_t points) const {
  const std::uint64_t oldest = std::max(first_, next_ > kSamples ? next_ - kSamples : 0);
  const std::int64_t since = next_ == 0 ? 0 : times_[(next_ - 1) % kSamples] - seconds;
  std::uint64_t first = next_;
  while (first > oldest && times_[(first - 1) % kSamples] >= since) --first;
  const std::uint64_t width = std::max<std::uint64_t>(1, (next_ - first + points - 1) / points);

  json::array times;
  std::vector<json::array> values(columns.size());
  for (std::uint64_t begin = first; begin < next_; begin += width) {
    const std::uint64_t end = std::min(begin + width, next_);
    times.emplace_back(times_[(end - 1) % kSamples]);
    for (std::size_t column = 0; column < columns.size(); ++column) {
      double sum = 0;
      int count = 0;
      for (std::uint64_t number = begin; number < end; ++number)
        if (const auto value = series.at(number, column)) {
          sum += *value;
          ++count;
        }
      // A tenth of a unit is as exact as a chart.
      values[column].push_back(count > 0 ? json::value(std::round(10 * sum / count) / 10)
                                         : json::value());
    }
  }
  json::object byName;
  for (std::size_t column = 0; column < columns.size(); ++column)
    byName[columns[column]] = std::move(values[column]);
  return json::object{{"times", std::move(times)}, {"columns", std::move(byName)}};
}

Result<json::value> History::query(std::string_view series, std::int64_t seconds,
                                   std::size_t points) const {
  points = std::max<std::size_t>(points, 1);
  seconds = std::clamp<std::int64_t>(seconds, 0, kSamples * (kPeriod / std::chrono::seconds(1)));
  if (series == "cluster") return read(cluster_, clusterColumns(), seconds, points);
  if (series.starts_with("node/")) {
    if (const auto* found = seriesIn(nodes_, series.substr(5)))
      return read(*found, nodeColumns(), seconds, points);
  } else if (series.starts_with("quota/")) {
    if (const auto* found = seriesIn(quotas_, series.substr(6)))
      return read(*found, quotaColumns(), seconds, points);
  }
  return fail(unknown(series));
}

Error History::unknown(std::string_view series) {
  return {ErrorCode::NotFound, "there is no history of \"" + std::string(series) + "\"", {}};
}

std::size_t History::bytes() const {
  std::size_t bytes = cluster_.bytes() + times_.size() * sizeof(times_[0]);
  for (const auto& [name, series] : nodes_) bytes += series.bytes() + name.size();
  for (const auto& [name, series] : quotas_) bytes += series.bytes() + name.size();
  return bytes;
}

}  // namespace koord::console
