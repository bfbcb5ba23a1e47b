#pragma once

// Where pods would land if they were evicted now: asked before anybody is.

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
  std::shared_ptr<const json::value>
      whole;                    // as the API shows it; nullptr: what is known of `pod` has to do
  bool stays = false;           // it is evicted only when its new place is held
  std::set<std::string> avoid;  // nodes that it is not to land on
  std::string group;            // those of a group move all or not at all
};
struct LandingPlace {
  std::string node;  // "" = nowhere: why
  std::string why;
};

class Landing {
 public:
  virtual ~Landing() = default;
  // In the order of the moves, each seeing those before. nullopt: nobody can tell.
  virtual Task<std::optional<std::vector<LandingPlace>>> ask(std::vector<LandingMove> moves) = 0;
};

// Asks the leader of koord-scheduler (scheduler/services/what_if.h), on its secure port: the plain one does not answer
// this. One that does not know the question, upstream's, is not asked again for a while.
class SchedulerLanding final : public Landing {
 public:
  // http may be nullptr: nobody can tell then. It says who we are (kube/identified_transport.h).
  SchedulerLanding(const LandingArgs& args, Handle& handle, net::HttpTransport* http)
      : args_(args), handle_(handle), http_(http) {}
  Task<std::optional<std::vector<LandingPlace>>> ask(std::vector<LandingMove> moves) override;

 private:
  Task<Result<std::string>> findScheduler();
  Task<Result<std::vector<LandingPlace>>> askAt(std::string url, std::string body,
                                                std::size_t count);

  const LandingArgs& args_;
  Handle& handle_;
  net::HttpTransport* http_;
  std::string url_;
  std::string certificate_;  // that the leader says it serves with
  SteadyTime notBefore_{};
};

// The question as the service reads it, without what no decision needs.
std::string landingQuestion(const std::vector<LandingMove>& moves);
Result<std::vector<LandingPlace>> readLandingAnswer(std::string_view body, std::size_t count);

}  // namespace koord::descheduler
