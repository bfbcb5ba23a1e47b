#pragma once

// Asks the running koord-scheduler of a cluster what would happen, with the credentials of a
// kubeconfig: for 'koordctl simulate' and for the console. Nothing is written.
//
// The pods of the question first get the defaults and changes that the cluster would give them, by
// dry runs, and Jobs that exist count with what they still have to run. While as many simulations
// run as may run at once, it asks again, ten times.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "koordctl/common/scheduler_client.h"
#include "koordctl/simulate/question.h"
#include "kube/api.h"

namespace koord::koordctl {

class ClusterSimulation {
 public:
  // scheduler, dataDir: as componentUrlOf() takes them.
  ClusterSimulation(KubeconfigChoice choice, std::string scheduler, std::string dataDir,
                    Executor& executor);

  // Reads the kubeconfig. Call it before the other functions.
  Result<> open();
  // Of objects that name none: that of the kubeconfig's context, else "default".
  const std::string& defaultNamespace() const { return config_->defaultNamespace; }
  // spec: of a Simulation. The error has the code of the status with which koord-scheduler answers,
  // and NotFound if no address of koord-scheduler is known.
  Task<Result<SimulationAnswer>> ask(json::object spec);

 private:
  const KubeconfigChoice choice_;
  Executor& executor_;
  SchedulerClient scheduler_;
  std::optional<kube::ClientConfig> config_;
};

// The parts of ask().

// Replaces the pods of the objects by those of dry runs; a note for each that failed.
Task<std::vector<std::string>> completePods(kube::Api& api, json::array& objects);

// Gives Jobs that exist their uids and status; a note for each that could not be read.
Task<std::vector<std::string>> completeJobs(kube::Api& api, json::array& objects);

using Fetch = std::function<Task<Result<net::HttpResponse>>(net::HttpRequest request)>;
// scheduler: its address.
Task<Result<json::value>> postSimulation(Executor& executor, const Fetch& fetch,
                                         std::string scheduler, json::object spec);

}  // namespace koord::koordctl
