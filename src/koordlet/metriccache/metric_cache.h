#pragma once

// The recent samples of every series, in memory: one ring per (metric, subject), sized by the
// history that the consumers of that metric need, so that the number of subjects bounds the memory.
// At one sample per second, 250 pods with 500 containers take about 6 MiB.
//
// Times are wall-clock times, because reports use them. When the clock is set back, samples that
// are now in the future are dropped. Not thread-safe: one actor writes and reads.

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/executor.h"
#include "koordlet/metriccache/aggregate.h"

namespace koord::koordlet {

// CPU in cores, memory in bytes, throttled as a fraction of periods.
enum class Metric : std::uint8_t {
  NodeCpu,
  NodeMemory,
  NodeMemoryWithPageCache,
  SystemCpu,
  SystemMemory,
  BeCpuUsage,  // milli-cores, as the next two
  BeCpuRealLimit,
  BeCpuRequest,
  PodCpu,
  PodMemory,
  PodMemoryWithPageCache,
  PodThrottled,
  ContainerCpu,
  ContainerMemory,
  ContainerMemoryWithPageCache,
  ContainerThrottled,
  HostAppCpu,
  HostAppMemory,
  HostAppMemoryWithPageCache,
  // Percent of a GPU, and bytes. The subject is the GPU's UUID, prefixed with "<pod uid>/" or
  // "<container id>/" for the usage of a pod or container.
  NodeGpuCore,
  NodeGpuMemory,
  PodGpuCore,
  PodGpuMemory,
  ContainerGpuCore,
  ContainerGpuMemory,
  // Counts of one window, over all CPUs and all processes of the container.
  ContainerCycles,
  ContainerInstructions,
  // Percent of the last ten seconds in which some, or all, tasks waited for the resource.
  PodCpuSome,
  PodCpuFull,
  PodMemorySome,
  PodMemoryFull,
  PodIoSome,
  PodIoFull,
  ContainerCpuSome,
  ContainerCpuFull,
  ContainerMemorySome,
  ContainerMemoryFull,
  ContainerIoSome,
  ContainerIoFull,
  // With the page cache in use, without cold pages (cold_page_collector.h).
  NodeMemoryWithHotPages,
  PodMemoryWithHotPages,
  HostAppMemoryWithHotPages,
  // By NUMA node; the subject is its number.
  NumaCpu,
  NumaMemory,
  NumaSystemCpu,
  NumaSystemMemory,
};

class MetricCache {
 public:
  // How long samples are kept.
  struct Horizons {
    Duration node = std::chrono::minutes(31);
    Duration subject =
        std::chrono::minutes(5) + std::chrono::seconds(10);  // pods, containers, host applications
    Duration brief = std::chrono::seconds(20);  // throttling and containers: only the newest matter
    bool operator==(const Horizons&) const = default;
  };

  MetricCache(Duration interval, Horizons horizons);

  // Takes effect with each series' next sample. Samples that were already dropped are not restored.
  void setHorizons(Horizons horizons) { horizons_ = horizons; }

  void append(Metric metric, std::string_view subject, WallTime time, double value);

  // The functions below use samples with from <= time <= to, and return nullopt if there are none.
  std::optional<double> last(Metric metric, std::string_view subject, WallTime from,
                             WallTime to) const;
  std::optional<double> average(Metric metric, std::string_view subject, WallTime from,
                                WallTime to) const;
  struct Window {
    Aggregates aggregates;
    Duration span{0};  // between first and last sample
  };
  std::optional<Window> aggregates(Metric metric, std::string_view subject, WallTime from,
                                   WallTime to) const;

  // All samples of a series, oldest first: fn(time, value).
  template <class Fn>
  void forEachSample(Metric metric, std::string_view subject, Fn fn) const {
    const Series* series = find(metric, subject);
    for (std::size_t i = 0; series && i < series->size; ++i)
      fn(timeOf(series->sample(i)), series->sample(i).value);
  }
  std::size_t sampleCount(Metric metric, std::string_view subject) const {
    const Series* series = find(metric, subject);
    return series ? series->size : 0;
  }
  Duration nodeHorizon() const { return horizons_.node; }

  // Drops series whose last sample is older than the horizon, e.g. those of removed pods.
  void collectGarbage(WallTime now);
  std::size_t seriesCount() const { return series_.size(); }
  std::size_t memoryBytes() const;

 private:
  struct [[gnu::packed]] Sample {
    std::uint32_t at = 0;  // kTick since epoch_
    double value = 0;
  };
  struct Series {
    std::vector<Sample> ring;
    std::size_t head = 0;  // index of the oldest sample; 0 until the ring is full
    std::size_t size = 0;
    const Sample& sample(std::size_t i) const { return ring[(head + i) % ring.size()]; }
  };
  struct Key {
    Metric metric;
    std::string subject;
    bool operator==(const Key&) const = default;
  };
  struct KeyView {
    Metric metric;
    std::string_view subject;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const KeyView& key) const {
      return std::hash<std::string_view>{}(key.subject) * 31 + static_cast<std::size_t>(key.metric);
    }
    std::size_t operator()(const Key& key) const {
      return (*this)(KeyView{key.metric, key.subject});
    }
  };
  struct Equal {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return a.metric == b.metric && a.subject == b.subject;
    }
  };

  std::uint32_t tickOf(WallTime time) const;
  WallTime timeOf(const Sample& sample) const;
  Duration horizonOf(Metric metric) const;
  void push(Series& series, Sample sample, std::size_t capacity);
  static void resize(Series& series, std::size_t capacity);
  // The indexes [first, second) of the samples with from <= time <= to.
  std::pair<std::size_t, std::size_t> range(const Series& series, WallTime from, WallTime to) const;
  const Series* find(Metric metric, std::string_view subject) const;

  Duration interval_;
  Horizons horizons_;
  WallTime epoch_{};
  std::unordered_map<Key, Series, Hash, Equal> series_;
  mutable std::vector<double> values_;  // buffer for one window
};

}  // namespace koord::koordlet
