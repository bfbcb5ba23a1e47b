#include "simulation/process.h"

#include <stdexcept>

#include "api/codec.h"
#include "net/fake_responder.h"
#include "scheduler/app/recorded_instance.h"
#include "scheduler/oracle/oracle.h"
#include "scheduler/plugins/registry.h"
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

// One of so many answers comes from a fork that several questions share.
constexpr std::uint64_t kSharedForetold = 4;

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
  recording_ = std::make_unique<scheduler::recording::MemoryWriter>();
  flags.recording.writer = recording_.get();
  auto program = scheduler::startScheduler(*this, flags, std::move(options), registry);
  if (!program) throw std::runtime_error(program.error().message);
  program_ = *std::move(program);
  checker_->watch(program_->scheduler());
  checker_->received = [this] { return program_ ? program_->seam().api.received() : 0; };
}

Result<json::value> Process::whatIf(const std::string& body) {
  net::ServerRequest request;
  request.method = "POST";
  request.target = "/apis/v1/whatif/pods";
  request.body = body;
  request.tls = true;
  const auto answer = std::make_shared<net::FakeResponder>();
  checker_->pauseChecks(true);
  program_->handle(std::move(request), answer);
  checker_->pauseChecks(false);
  if (answer->status != 200) return fail(ErrorCode::Invalid, answer->body);
  return parseJson(answer->body);
}

std::optional<Foretold> Process::foretell(const api::Pod& pod) {
  api::Pod asked = pod;
  asked.status = {};
  json::object spec{{"objects", json::array{api::encodeObject(asked)}}};
  const auto question =
      scheduler::oracle::readQuestion(scheduler::oracle::simulationOf(std::move(spec)));
  if (!question) throw std::logic_error(question.error().message);
  Foretold foretold{.received = program_->seam().api.received()};
  const scheduler::oracle::CompletePods none;
  // Some are asked twice, as questions that share a fork.
  const std::size_t times = ++foretold_ % kSharedForetold == 0 ? 2 : 1;
  auto children = scheduler::oracle::askAll(
      program_->scheduler(), program_->seam(), scheduler::Registry(),
      std::vector<scheduler::oracle::AskedQuestion>(times, {&*question, &none}), 1);
  if (!children) throw std::runtime_error(children.error().message);
  const std::atomic<bool> cancelled = false;
  const auto text = scheduler::oracle::answerOf(std::move(children->front()), cancelled);
  if (times == 2) {
    const auto again = scheduler::oracle::answerOf(std::move(children->back()), cancelled);
    if (text && (!again || *text != *again))
      journal_.violated("copies of one moment answer alike", "{}: {} and {}", name_, *text,
                        again ? *again : again.error().message);
  }
  const auto answer = text ? parseJson(*text) : Result<json::value>(fail(text.error()));
  if (!answer) {
    journal_.violated("an oracle answers", "{}: {}", name_, answer.error().message);
    return std::nullopt;
  }
  const json::value& status = memberOf(*answer, "status");
  const json::value* pods = find(status, "pods");
  if (!pods || !pods->is_array() || pods->get_array().size() != 1) return std::nullopt;
  const json::value& told = pods->get_array()[0];
  const json::value* first = find(told, "firstAttempt");
  foretold.node = textAt(first ? *first : told, "node");
  foretold.nominated = textAt(first ? *first : told, "nominatedNode");
  return foretold;
}

void Process::kill() {
  if (!program_) return;
  journal_.note("{} dies", name_);
  scheduler::InstanceSettings settings = program_->settings();
  program_.reset();
  checker_.reset();
  api_.reset();
  if (!journal_.failed()) checkReplay(std::move(settings));
}

void Process::checkReplay(scheduler::InstanceSettings settings) {
  scheduler::Registry registry = scheduler::makeRegistry();
  DecisionChecker::joinWithoutChecks(registry);
  for (const auto& feature : features_) feature->join(registry);
  scheduler::recording::MemorySource source(recording_->bytes());
  scheduler::ReplayedInstance replay(source, std::move(settings), registry, {});
  using Outcome = scheduler::recording::Replayer::Outcome;
  const Result<Outcome> outcome = replay.run();
  if (!outcome) return journal_.violated("replay", "{}: {}", name_, outcome.error().message);
  if (outcome->source == scheduler::recording::Reader::End::Damaged)
    return journal_.violated("replay", "{}: {}", name_, outcome->why);
  if (outcome->kind == Outcome::Kind::Same) return;
  journal_.violated("replay", "{}: after {} turns: recorded: {}; replayed: {}", name_,
                    outcome->turns, outcome->recorded, outcome->replayed);
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
