#pragma once

// Extender: one HTTP service that takes part in scheduling: filtering and scoring nodes, the choice
// of victims, and the binding. One per entry of `extenders`; used on the scheduler's executor.

#include <memory>
#include <set>
#include <string>

#include "base/task.h"
#include "net/http_transport.h"
#include "scheduler/config/types.h"
#include "scheduler/extender/wire.h"

namespace koord::scheduler {

class Extender {
 public:
  // Validation errors go to `errors` by field path; the result must not be used then.
  Extender(ExtenderConfig config, net::HttpTransport& transport, Executor& executor,
           std::vector<std::string>& errors);

  const ExtenderConfig& config() const { return config_; }
  // Returns true if a container requests one of the resources that it manages, or if it manages
  // none.
  bool interestedIn(const api::Pod& pod) const;

  // Errors have upstream's text: "failed filter with extender at URL http://..., code 500", or the
  // error in the answer. The extender must outlive the tasks.
  Task<Result<wire::FilterResult>> filter(wire::PodObject pod, wire::NodeObjects nodes);
  Task<Result<std::vector<wire::HostPriority>>> prioritize(wire::PodObject pod,
                                                           wire::NodeObjects nodes);
  Task<Result<>> bind(wire::PodObject pod, std::string node);
  // The remaining nodes, with the victims that it agrees to.
  Task<Result<std::map<std::string, wire::Victims>>> preempt(
      wire::PodObject pod, std::map<std::string, wire::Victims> victims);

 private:
  Task<Result<std::string>> send(std::string verb, std::string body);

  ExtenderConfig config_;
  net::HttpTransport& transport_;
  Executor& executor_;
  std::string url_;  // without a slash at the end
  std::shared_ptr<const net::TlsConfig> tls_;
  std::set<std::string, std::less<>> managed_;
};

}  // namespace koord::scheduler
