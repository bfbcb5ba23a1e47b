#pragma once

// POST /apis/v1/simulations on the secure port: a Simulation in, a SimulationResult out.
//
// The caller must have the rights to do what it asks about (access.h); each is checked by a
// SubjectAccessReview. Statuses: 400 the question cannot be read, 403 a right is missing, 413 too
// large, 429 too many simulations at once, 503 the state is not complete yet or the process is a
// shadow, 504 no answer in time. Questions that arrive while the scheduler works share forks, and
// wait for them (shared_forks.h).
// A standby answers as soon as it has read the cluster. A simulation ends when its client is gone.
//
// On the component's executor, outside of recordings: an answer changes nothing. Threads read
// questions, wait for children, and read and write answers.

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <thread>

#include "kube/api.h"
#include "net/http_server.h"
#include "scheduler/oracle/access.h"
#include "scheduler/oracle/budget.h"
#include "scheduler/oracle/oracle.h"
#include "scheduler/oracle/shared_forks.h"

namespace koord::scheduler::oracle {

inline constexpr std::string_view kPath = "/apis/v1/simulations";
inline constexpr std::size_t kMaxAtOnce = 4;
inline constexpr std::size_t kMaxWaiting = 12;

struct ServiceLimits {
  std::size_t atOnce =
      boundedChildren(kMaxAtOnce, std::thread::hardware_concurrency(), kCgroupRoot);  // that run
  std::size_t waiting = kMaxWaiting;                                                  // in addition
};

class Service {
 public:
  // api: for pods on nodes that are drained. They must outlive the service.
  Service(Executor& executor, kube::Api& api, const Registry& registry,
          std::function<Askable()> subject, ServiceLimits limits = {});
  // Ends running simulations.
  ~Service();

  static bool concerns(const net::ServerRequest& request);
  void handle(net::ServerRequest request, std::shared_ptr<net::Responder> to,
              std::shared_ptr<const kube::Caller> caller);

 private:
  struct Reply {
    int status = 200;
    std::string body;
  };
  using Cancelled = std::shared_ptr<std::atomic<bool>>;
  class Place;
  Task<void> respond(net::ServerRequest request, std::shared_ptr<net::Responder> to,
                     std::shared_ptr<const kube::Caller> caller, Cancelled cancelled);
  // Status 200 and an answer, or why there is none.
  Task<Reply> reply(const net::ServerRequest& request, const kube::Caller& caller,
                    const Cancelled& cancelled);
  Task<Result<json::value>> visibleAnswer(const Question& question, const kube::Caller& caller,
                                          const Cancelled& cancelled);
  Task<Result<>> checkRights(const kube::Caller& caller, std::vector<kube::ResourceAccess> rights);
  // The complete pods on the nodes of the question; the caller must be allowed to evict them.
  Task<Result<CompletePods>> podsToMove(const kube::Caller& caller, const Question& question);
  Task<Result<json::value>> simulate(const Question& question, const CompletePods& pods,
                                     const Cancelled& cancelled);

  // Looks after the questions that wait for a fork, now and until none waits.
  void look();

  Executor& executor_;
  kube::Api& api_;
  const Registry registry_;
  const std::function<Askable()> subject_;
  const ServiceLimits limits_;
  SharedForks forks_;
  TimerId looking_ = 0;
  std::set<Cancelled> asking_;
  TaskGroup tasks_;
};

}  // namespace koord::scheduler::oracle
