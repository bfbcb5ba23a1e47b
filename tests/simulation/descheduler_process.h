#pragma once

// DeschedulerProcess: koord-descheduler as a separate process, with its own connections to the API
// server and to koord-scheduler, and leader election. It can be killed and restarted at any moment;
// requests that it has sent still arrive then.

#include <memory>
#include <string>

#include "base/virtual_loop.h"
#include "descheduler/framework/descheduler.h"
#include "descheduler/framework/metrics.h"
#include "kube/http_api.h"
#include "kube/leader_election.h"
#include "net/testing/sim_network.h"
#include "simulation/journal.h"

namespace koord::simulation {

class DeschedulerProcess {
 public:
  // The servers that it connects to.
  struct Peers {
    net::HttpServer::Handler server;
    net::HttpServer::Handler scheduler;  // at http://scheduler
  };
  DeschedulerProcess(VirtualLoop& loop, Journal& journal, Peers peers, std::string configuration,
                     Random random);
  ~DeschedulerProcess();

  void start();
  // As by SIGKILL.
  void kill();
  // Starts it, and restarts it when it ends, as kubelet does.
  void keepRunning();
  bool running() const { return descheduler_ != nullptr; }
  void setFaults(const net::NetworkFaults& faults);

 private:
  void giveUp(const std::string& why);

  VirtualLoop& loop_;
  Journal& journal_;
  const std::string configuration_;
  const descheduler::Registry registry_;
  Random random_;
  net::SimNetwork network_;
  net::SimNetwork schedulers_;
  int starts_ = 0;
  bool keptRunning_ = false;
  std::unique_ptr<kube::HttpApi> api_;
  std::unique_ptr<descheduler::Metrics> metrics_;
  std::unique_ptr<descheduler::Descheduler> descheduler_;
  std::unique_ptr<kube::LeaderElector> elector_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace koord::simulation
