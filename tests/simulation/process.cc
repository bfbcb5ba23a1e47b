#include "simulation/process.h"

#include <stdexcept>

#include "scheduler/plugins/registry.h"
#include "scheduler/services/what_if.h"
#include "simulation/feature.h"

namespace koord::simulation {

namespace {

constexpr const char* kConfiguration = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    preFilter: {enabled: [{name: DecisionChecker}]}
    reserve: {enabled: [{name: DecisionChecker}]}
  pluginConfig:
  - name: VolumeBinding
    args: {bindTimeoutSeconds: 20}
  - name: PodTopologySpread  # what it does by default with pods of workloads plain evaluation does not know
    args: {defaultingType: List}
)";

}  // namespace

Process::Process(std::string name, VirtualLoop& loop, apiserver::HttpFront& front, Journal& journal,
                 Decisions& decisions, const Features& features, Random random)
    : machine_(std::move(name)),
      loop_(loop),
      journal_(journal),
      decisions_(decisions),
      features_(features),
      random_(random),
      network_(loop, random_.fork()) {
  network_.listen([&front](net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
    front.handle(std::move(request), std::move(responder));
  });
}

Process::~Process() {
  *alive_ = false;
  kill();
}

void Process::start() {
  name_ = fmt::format("{}#{}", machine_, ++starts_);
  journal_.note("{} starts", name_);
  decisions_.starts[name_] = loop_.steadyNow();
  metrics_ = std::make_shared<kube::Metrics>();
  kube::HttpApiOptions client;
  if (starts_ % 2 == 0) client.contentTypes.sent = "application/json";
  api_ = std::make_unique<kube::HttpApi>(
      network_, loop_, kube::ClientConfig{.server = "http://server"}, std::move(client));
  checker_ = std::make_unique<DecisionChecker>(name_, journal_, decisions_, features_);
  scheduler::Registry registry = scheduler::makeRegistry();
  checker_->onRunaway = [this] { endLater(); };
  checker_->join(registry);
  auto configuration = scheduler::parseConfiguration(kConfiguration);
  if (!configuration) throw std::runtime_error(configuration.error().message);
  scheduler::SchedulerOptions options;
  options.configuration = *std::move(configuration);
  for (const auto& feature : features_) {
    feature->join(registry);
    feature->configure(options.configuration.profiles.front());
  }
  options.seed = random_.next();
  scheduler::Flags flags;
  flags.port = flags.secure.port = 0;
  auto program = scheduler::startScheduler(*this, flags, std::move(options), registry);
  if (!program) throw std::runtime_error(program.error().message);
  program_ = *std::move(program);
  checker_->watch(program_->scheduler());
}

Result<json::value> Process::whatIf(const std::string& body) {
  scheduler::Scheduler& scheduler = program_->scheduler();
  const auto moves = scheduler::readWhatIf(scheduler, body);
  if (!moves) return fail(Error(moves.error()));
  checker_->pauseChecks(true);
  const scheduler::WhatIfAnswer answer = scheduler::whatIf(scheduler, *moves);
  checker_->pauseChecks(false);
  return scheduler::whatIfJson(*moves, answer);
}

void Process::kill() {
  if (!program_) return;
  journal_.note("{} dies", name_);
  program_.reset();
  checker_.reset();
  api_.reset();
}

void Process::stop() {
  if (!program_) return;
  journal_.note("{} is told to stop", name_);
  program_->stop([this] { endLater(); });
}

void Process::exit(int) {
  journal_.note("{} gives up", name_);
  endLater();
}

void Process::keepRunning() {
  keptRunning_ = true;
  if (!running()) start();
}

// Deferred, because its code is on the stack.
void Process::endLater() {
  loop_.post([this, alive = alive_, start = starts_] {
    if (!*alive || start != starts_) return;
    kill();
    if (keptRunning_) this->start();
  });
}

net::HttpClient& Process::http() {
  throw std::logic_error("not part of the simulation");
}

}  // namespace koord::simulation
