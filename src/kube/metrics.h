#pragma once

// The metrics that every client-go program has, under the same names: rest_client_*,
// workqueue_*, leader_election_master_status and process_*. One object per program; on the
// component's executor.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/executor.h"

namespace koord::kube {

class Metrics {
 public:
  Metrics();
  ~Metrics();

  // Sizes of a request and its answer in bytes, as transferred.
  void requestSized(std::string_view method, std::string_view host, std::size_t sent,
                    std::size_t received);
  // Counts an answered request; status 0 = no answer arrived. host: "127.0.0.1:6443".
  void requestDone(std::string_view method, std::string_view host, int status, Duration took);
  void requestRepeated(std::string_view method, std::string_view host, int status);
  // Adds the time for which a request waited for the client-side limit.
  void rateLimited(std::string_view method, std::string_view host, Duration waited);

  // The metrics of one work queue; lives as long as the Metrics.
  class Queue {
   public:
    virtual ~Queue() = default;
    virtual void added(std::size_t depth) = 0;
    virtual void started(std::size_t depth, SteadyTime now, Duration waited) = 0;
    virtual void ended(Duration took) = 0;
    virtual void retried() = 0;
  };
  Queue& queue(std::string_view name);

  void setLeading(std::string_view lease, bool leading);

  // The Prometheus text format.
  std::string text(SteadyTime now) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// process_* alone, for programs without an API client.
std::string processMetricsText();

}  // namespace koord::kube
