#pragma once

// Process: koord-scheduler as a separate process, with its own connection to the API server and
// leader election. It can be killed and restarted at any moment; requests that it has sent still
// arrive then.

#include <memory>
#include <optional>
#include <string>

#include "apiserver/http_front.h"
#include "base/virtual_loop.h"
#include "kube/component.h"
#include "kube/http_api.h"
#include "net/testing/sim_network.h"
#include "scheduler/app/app.h"
#include "scheduler/recording/writer.h"
#include "simulation/decision_checker.h"
#include "simulation/foretelling.h"

namespace koord::simulation {

class Process final : public kube::Component {
 public:
  Process(std::string name, VirtualLoop& loop, apiserver::HttpFront& front, Journal& journal,
          Decisions& decisions, const Features& features, Random random);
  ~Process() override;

  void start();
  // As by SIGKILL.
  void kill();
  // At the end of the simulation: nothing restarts it.
  void end() {
    keptRunning_ = false;
    kill();
  }
  // As by SIGTERM; it runs until its shutdown is complete.
  void stop();
  // Starts it, and restarts it when it ends, as kubelet does.
  void keepRunning();
  bool running() const { return program_ != nullptr; }
  // Call it only while the process runs.
  const scheduler::Scheduler& scheduler() const { return program_->scheduler(); }
  DecisionChecker& checker() { return *checker_; }
  // Answers a what-if simulation as its HTTP service does.
  Result<json::value> whatIf(const std::string& body);
  // What the scheduler's oracle says about the pod; nullopt if it says nothing.
  std::optional<Foretold> foretell(const api::Pod& pod);
  const std::string& name() const { return name_; }  // with the number of the start
  net::SimNetwork& network() { return network_; }

  Executor& executor() override { return loop_; }
  kube::Api& api() override { return *api_; }
  net::HttpClient& http() override;
  Random& random() override { return random_; }
  const std::shared_ptr<kube::Metrics>& metrics() override { return metrics_; }
  void exit(int status) override;

 private:
  void endLater();
  // The recorded life of the process, run again, must go the same way.
  void checkReplay(scheduler::InstanceSettings settings);

  const std::string machine_;
  std::string name_;
  VirtualLoop& loop_;
  Journal& journal_;
  Decisions& decisions_;
  const Features& features_;
  Random random_;
  net::SimNetwork network_;
  int starts_ = 0;
  std::uint64_t foretold_ = 0;
  bool keptRunning_ = false;
  std::shared_ptr<kube::Metrics> metrics_;
  std::unique_ptr<kube::HttpApi> api_;
  std::unique_ptr<DecisionChecker> checker_;
  std::unique_ptr<scheduler::recording::MemoryWriter> recording_;
  std::unique_ptr<scheduler::RunningScheduler> program_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace koord::simulation
