#include "simulation/descheduler_process.h"

#include <stdexcept>

#include "descheduler/app/plugin_table.h"
#include "kube/election_config.h"

namespace koord::simulation {

DeschedulerProcess::DeschedulerProcess(VirtualLoop& loop, Journal& journal, Peers peers,
                                       std::string configuration, Random random)
    : loop_(loop),
      journal_(journal),
      configuration_(std::move(configuration)),
      registry_(descheduler::pluginTable()),
      random_(random),
      network_(loop, random_.fork()),
      schedulers_(loop, random_.fork()) {
  network_.listen(std::move(peers.server));
  schedulers_.listen(std::move(peers.scheduler));
}

DeschedulerProcess::~DeschedulerProcess() {
  *alive_ = false;
  kill();
}

void DeschedulerProcess::setFaults(const net::NetworkFaults& faults) {
  network_.faults = schedulers_.faults = faults;
}

void DeschedulerProcess::start() {
  journal_.note("descheduler#{} starts", ++starts_);
  std::vector<std::string> problems;
  auto prepared = descheduler::prepare(descheduler::readConfiguration(configuration_, problems),
                                       registry_, problems);
  if (!problems.empty()) throw std::runtime_error(problems.front());
  kube::LeaderElectionOptions election =
      kube::electionOptions(prepared.configuration.leaderElection);
  election.identity = kube::makeIdentity(random_);
  kube::HttpApiOptions client;
  client.contentTypes.sent = "application/json";  // so that its requests can be parsed
  api_ = std::make_unique<kube::HttpApi>(
      network_, loop_, kube::ClientConfig{.server = "http://server"}, std::move(client));
  metrics_ = std::make_unique<descheduler::Metrics>();
  descheduler::Descheduler::Options options;
  options.prepared = std::move(prepared);
  options.http = &schedulers_;
  options.onFatal = [this](const Error& error) { giveUp(error.message); };
  descheduler_ = std::make_unique<descheduler::Descheduler>(
      *api_, loop_, random_.fork(), std::move(options), registry_, *metrics_);
  elector_ = std::make_unique<kube::LeaderElector>(
      *api_, loop_, election, random_.fork(), [this] { descheduler_->start(); },
      [this] { giveUp("the lease is lost"); });
  elector_->start();
}

void DeschedulerProcess::kill() {
  if (!descheduler_) return;
  journal_.note("descheduler#{} dies", starts_);
  elector_.reset();
  descheduler_.reset();
  metrics_.reset();
  api_.reset();
}

void DeschedulerProcess::keepRunning() {
  keptRunning_ = true;
  if (!running()) start();
}

// Deferred, because its code is on the stack.
void DeschedulerProcess::giveUp(const std::string& why) {
  journal_.note("descheduler#{} gives up: {}", starts_, why);
  loop_.post([this, alive = alive_, start = starts_] {
    if (!*alive || start != starts_) return;
    kill();
    if (keptRunning_) this->start();
  });
}

}  // namespace koord::simulation
