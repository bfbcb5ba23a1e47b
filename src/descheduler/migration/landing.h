#pragma once

// Predicts the nodes of pods if they were evicted now. Used before an eviction.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "descheduler/framework/handle.h"
#include "descheduler/migration/args.h"
#include "net/http_transport.h"

namespace koord::descheduler {

struct LandingMove {
  PodPtr pod;
  std::shared_ptr<const json::value> whole;  // as read from the API; nullptr: use `pod`
  bool stays = false;                        // it is evicted only after its new place is reserved
  std::set<std::string> avoid;               // nodes to avoid
  std::string group;                         // pods of a group move all or not at all
};
struct LandingPlace {
  std::string node;  // "" = no node, for the reason `why`
  std::string why;
};

class Landing {
 public:
  virtual ~Landing() = default;
  // The places in the order of the moves; each prediction includes the earlier moves. nullopt if
  // predictions are not available.
  virtual Task<std::optional<std::vector<LandingPlace>>> ask(std::vector<LandingMove> moves) = 0;
};

// Queries the leader of koord-scheduler (scheduler/services/what_if.h) on its secure port: the
// plain port does not answer this. A scheduler without this service, such as upstream's, is not
// asked again for a while.
class SchedulerLanding final : public Landing {
 public:
  // http may be nullptr: then there are no predictions. It authenticates this process
  // (kube/identified_transport.h).
  SchedulerLanding(const LandingArgs& args, Handle& handle, net::HttpTransport* http)
      : args_(args), handle_(handle), http_(http) {}
  Task<std::optional<std::vector<LandingPlace>>> ask(std::vector<LandingMove> moves) override;

 private:
  Task<Result<std::string>> findScheduler();
  Task<Result<std::vector<LandingPlace>>> queryScheduler(std::string url, std::string body,
                                                         std::size_t count);

  const LandingArgs& args_;
  Handle& handle_;
  net::HttpTransport* http_;
  std::string url_;
  std::string certificate_;  // serving certificate, from the leader's lease
  SteadyTime retryAt_{};
};

// The request body for the service, without unneeded fields.
std::string landingRequest(const std::vector<LandingMove>& moves);
Result<std::vector<LandingPlace>> readLandingReply(std::string_view body, std::size_t count);

}  // namespace koord::descheduler
