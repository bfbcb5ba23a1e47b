#include "kube/metrics.h"

#include <map>

#include "kube/process_usage.h"
#include "net/prometheus.h"

namespace koord::kube {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Labels;
using prometheus::Registry;
using Buckets = Histogram::BucketBoundaries;

const Buckets kRequestBuckets{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60};
const Buckets kSizeBuckets{64,    256,    512,     1024,    4096,    16384,
                           65536, 262144, 1048576, 4194304, 16777216};
// 10 ns to 1000 s.
const Buckets kQueueBuckets{1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000};

std::string codeOf(int status) {
  return status == 0 ? "<error>" : std::to_string(status);
}

}  // namespace

struct Metrics::Impl {
  Registry registry;
  Family<Counter>& requests =
      net::counterFamily(registry, "rest_client_requests_total",
                         "[ALPHA] Requests to the API server by status code, method and host");
  Family<Counter>& repeats =
      net::counterFamily(registry, "rest_client_request_retries_total",
                         "[ALPHA] Requests that were retried after a response that asked for it");
  Family<Histogram>& latency =
      net::histogramFamily(registry, "rest_client_request_duration_seconds",
                           "[ALPHA] Latency of requests by method and host");
  Family<Histogram>& sent =
      net::histogramFamily(registry, "rest_client_request_size_bytes",
                           "[ALPHA] Size of requests in bytes by method and host");
  Family<Histogram>& received =
      net::histogramFamily(registry, "rest_client_response_size_bytes",
                           "[ALPHA] Size of responses in bytes by method and host");
  Family<Histogram>& limiter = net::histogramFamily(
      registry, "rest_client_rate_limiter_duration_seconds",
      "[ALPHA] Time that requests waited for the client-side rate limit by method and host");
  Family<Gauge>& depth =
      net::gaugeFamily(registry, "workqueue_depth", "[BETA] Keys that wait in a work queue");
  Family<Counter>& adds =
      net::counterFamily(registry, "workqueue_adds_total", "[BETA] Keys added to a work queue");
  Family<Counter>& retries = net::counterFamily(registry, "workqueue_retries_total",
                                                "[BETA] Keys queued again after a failure");
  Family<Histogram>& waited = net::histogramFamily(registry, "workqueue_queue_duration_seconds",
                                                   "[BETA] Time that a key waits in the queue");
  Family<Histogram>& worked = net::histogramFamily(registry, "workqueue_work_duration_seconds",
                                                   "[BETA] Time to process a key");
  Family<Gauge>& unfinished = net::gaugeFamily(registry, "workqueue_unfinished_work_seconds",
                                               "[BETA] Time spent so far on the keys in progress");
  Family<Gauge>& longest =
      net::gaugeFamily(registry, "workqueue_longest_running_processor_seconds",
                       "[BETA] Time spent so far on the key that is longest in progress");
  Family<Gauge>& master =
      net::gaugeFamily(registry, "leader_election_master_status",
                       "[ALPHA] 1 while this process holds the lease of that name, else 0");

  class QueueMetrics final : public Queue {
   public:
    QueueMetrics(Impl& all, const Labels& name)
        : depth_(all.depth.Add(name)),
          adds_(all.adds.Add(name)),
          retries_(all.retries.Add(name)),
          waited_(all.waited.Add(name, kQueueBuckets)),
          worked_(all.worked.Add(name, kQueueBuckets)),
          unfinished_(all.unfinished.Add(name)),
          longest_(all.longest.Add(name)) {}

    void added(std::size_t depth) override {
      adds_.Increment();
      depth_.Set(static_cast<double>(depth));
    }
    void started(std::size_t depth, SteadyTime now, Duration waited) override {
      depth_.Set(static_cast<double>(depth));
      waited_.Observe(net::inSeconds(waited));
      workingSince_ = now;
    }
    void ended(Duration took) override {
      worked_.Observe(net::inSeconds(took));
      workingSince_.reset();
    }
    void retried() override { retries_.Increment(); }
    void refresh(SteadyTime now) {
      // One key is worked on at a time, so both are the same.
      const double spent = workingSince_ ? net::inSeconds(now - *workingSince_) : 0;
      unfinished_.Set(spent);
      longest_.Set(spent);
    }

   private:
    Gauge& depth_;
    Counter& adds_;
    Counter& retries_;
    Histogram& waited_;
    Histogram& worked_;
    Gauge& unfinished_;
    Gauge& longest_;
    std::optional<SteadyTime> workingSince_;
  };
  std::map<std::string, QueueMetrics, std::less<>> queues;
  // Looking up a family costs more than counting.
  std::map<std::pair<std::string, std::string>, std::pair<Histogram*, Histogram*>> sizes;
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}

Metrics::~Metrics() = default;

void Metrics::requestDone(std::string_view method, std::string_view host, int status,
                          Duration took) {
  const std::string m(method), h(host);
  impl_->requests.Add({{"code", codeOf(status)}, {"method", m}, {"host", h}}).Increment();
  impl_->latency.Add({{"verb", m}, {"host", h}}, kRequestBuckets).Observe(net::inSeconds(took));
}

void Metrics::requestSized(std::string_view method, std::string_view host, std::size_t sent,
                           std::size_t received) {
  auto& [requests, answers] = impl_->sizes[{std::string(method), std::string(host)}];
  if (!requests) {
    const Labels labels{{"verb", std::string(method)}, {"host", std::string(host)}};
    requests = &impl_->sent.Add(labels, kSizeBuckets);
    answers = &impl_->received.Add(labels, kSizeBuckets);
  }
  requests->Observe(static_cast<double>(sent));
  answers->Observe(static_cast<double>(received));
}

void Metrics::requestRepeated(std::string_view method, std::string_view host, int status) {
  impl_->repeats
      .Add({{"code", codeOf(status)}, {"verb", std::string(method)}, {"host", std::string(host)}})
      .Increment();
}

void Metrics::rateLimited(std::string_view method, std::string_view host, Duration waited) {
  impl_->limiter.Add({{"verb", std::string(method)}, {"host", std::string(host)}}, kRequestBuckets)
      .Observe(net::inSeconds(waited));
}

Metrics::Queue& Metrics::queue(std::string_view name) {
  auto it = impl_->queues.find(name);
  if (it == impl_->queues.end()) {
    const std::string text(name);
    it = impl_->queues.try_emplace(text, *impl_, Labels{{"name", text}}).first;
  }
  return it->second;
}

void Metrics::setLeading(std::string_view lease, bool leading) {
  impl_->master.Add({{"name", std::string(lease)}}).Set(leading ? 1 : 0);
}

std::string Metrics::text(SteadyTime now) const {
  for (auto& [name, queue] : impl_->queues) queue.refresh(now);
  return net::prometheusText(impl_->registry) + processMetricsText();
}

std::string processMetricsText() {
  const ProcessUsage usage = processUsage();
  Registry registry;
  const auto set = [&](const char* name, const char* help, double value) {
    net::gaugeFamily(registry, name, help).Add({}).Set(value);
  };
  const auto count = [&](const char* name, const char* help, double value) {
    net::counterFamily(registry, name, help).Add({}).Increment(value);
  };
  count("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.",
        usage.cpuSeconds);
  set("process_open_fds", "Number of open file descriptors.", usage.openFiles);
  set("process_max_fds", "Maximum number of open file descriptors.", usage.maxFiles);
  set("process_virtual_memory_bytes", "Virtual memory size in bytes.", usage.virtualBytes);
  set("process_virtual_memory_max_bytes", "Maximum amount of virtual memory available in bytes.",
      usage.maxVirtualBytes);
  set("process_resident_memory_bytes", "Resident memory size in bytes.", usage.residentBytes);
  count("process_network_receive_bytes_total",
        "Number of bytes received by the process over the network.", usage.receivedBytes);
  count("process_network_transmit_bytes_total",
        "Number of bytes sent by the process over the network.", usage.sentBytes);
  set("process_start_time_seconds", "Start time of the process since unix epoch in seconds.",
      usage.startTime);
  set("process_threads", "Number of threads.", usage.threads);
  return net::prometheusText(registry);
}

}  // namespace koord::kube
