#include "scheduler/app/recorded_instance.h"

#include <fmt/format.h>

#include "base/virtual_loop.h"
#include "scheduler/recording/redaction.h"

namespace koord::scheduler {

using recording::Item;

namespace {

class NoResponder final : public net::Responder {
 public:
  void respond(int /*status*/, net::Headers /*headers*/, Bytes /*body*/) override {}
  void begin(int /*status*/, net::Headers /*headers*/) override {}
  void write(Bytes /*chunk*/) override {}
  void end() override {}
  std::size_t queuedBytes() const override { return 0; }
  void abort() override {}
  void onClosed(Callback /*fn*/) override {}
};

}  // namespace

Result<std::unique_ptr<RecordedInstance>> RecordedInstance::create(
    InstanceSettings settings, const Registry& registry, InstanceSurroundings surroundings,
    recording::Writer* writer) {
  std::unique_ptr<RecordedInstance> self(new RecordedInstance());
  if (!writer) {
    self->seam_ = std::make_unique<oracle::Seam>(surroundings.executor, surroundings.api);
    InstanceSurroundings apart = self->behindSeam(std::move(surroundings));
    auto instance = Instance::create(std::move(settings), registry, std::move(apart));
    if (!instance) return fail(std::move(instance.error()));
    self->instance_ = *std::move(instance);
    return self;
  }
  self->recorder_ = std::make_unique<recording::Recorder>(surroundings.executor, *writer);
  recording::Recorder& recorder = *self->recorder_;
  self->openDebugFlags_ = surroundings.service.openDebugFlags;
  self->api_ = std::make_unique<recording::RecordingApi>(recorder, surroundings.api);
  if (surroundings.http)
    self->http_ = std::make_unique<recording::RecordingTransport>(recorder, *surroundings.http);
  self->seam_ = std::make_unique<oracle::Seam>(recorder, *self->api_);
  InstanceSurroundings recorded = self->behindSeam(std::move(surroundings));
  recorded.http = self->http_.get();
  Result<std::unique_ptr<Instance>> instance;
  self->input(Item::Begin, {}, [&] {
    instance = Instance::create(std::move(settings), registry, std::move(recorded));
  });
  if (!instance) return fail(std::move(instance.error()));
  self->instance_ = *std::move(instance);
  self->instance_->scheduler().hooks().decided = [&recorder](const std::string& pod,
                                                             const Decision& decision) {
    recorder.output(Item::Decision, 0, encodeDecision(textOf(pod, decision)));
  };
  return self;
}

InstanceSurroundings RecordedInstance::behindSeam(InstanceSurroundings surroundings) {
  return {seam_->executor,
          seam_->api,
          surroundings.http,
          surroundings.serving,
          surroundings.metrics,
          std::move(surroundings.auditor),
          std::move(surroundings.service),
          surroundings.history};
}

template <class Fn>
void RecordedInstance::input(Item item, std::string_view bytes, Fn&& fn) {
  if (!recorder_) return fn();
  recorder_->input(item, bytes, fn);
}

void RecordedInstance::start() {
  input(Item::Start, {}, [this] { instance_->start(); });
}

void RecordedInstance::lead() {
  input(Item::Lead, {}, [this] { instance_->lead(); });
}

void RecordedInstance::stop() {
  input(Item::Stop, {}, [this] { instance_->stop(); });
}

// Searches draw random numbers, and flags turn work on. What is refused without TLS does neither,
// and a replay has TLS.
bool RecordedInstance::isInput(const net::ServerRequest& request) const {
  if (request.target.starts_with("/debug/flags/")) return request.tls || openDebugFlags_;
  return request.tls && request.target.starts_with("/apis/");
}

void RecordedInstance::handle(net::ServerRequest request, std::shared_ptr<net::Responder> to) {
  if (!recorder_ || !isInput(request)) return instance_->handle(std::move(request), std::move(to));
  std::string bytes;
  recording::putText(bytes, request.method);
  recording::putText(bytes, request.target);
  std::string storage;
  recording::putText(bytes, recording::redacted(request.body, storage));
  input(Item::Http, bytes, [&] { instance_->handle(std::move(request), std::move(to)); });
}

struct ReplayedInstance::Idle {
  VirtualLoop loop;
  Metrics metrics;
};

ReplayedInstance::ReplayedInstance(recording::Source& source, InstanceSettings settings,
                                   const Registry& registry, Hooks hooks)
    : settings_(std::move(settings)),
      registry_(registry),
      hooks_(std::move(hooks)),
      replayer_(source, inputs()),
      api_(replayer_),
      http_(replayer_),
      idle_(std::make_unique<Idle>()) {}

ReplayedInstance::~ReplayedInstance() = default;

Result<recording::Replayer::Outcome> ReplayedInstance::run() {
  auto outcome = replayer_.run();
  if (!problem_.empty()) return fail(ErrorCode::Invalid, problem_);
  return outcome;
}

recording::Inputs ReplayedInstance::inputs() {
  const auto once = [this](Item item, auto fn) {
    return [this, item, fn, came = false]() mutable {
      if (std::exchange(came, true))
        return refuse(fmt::format("the recording has {} twice", nameOf(item)));
      if (instance_) fn(*instance_);
    };
  };
  return {.begin = [this] { begin(); },
          .start = once(Item::Start, [](Instance& instance) { instance.start(); }),
          .lead = once(Item::Lead, [](Instance& instance) { instance.lead(); }),
          .stop =
              [this] {
                if (instance_) instance_->stop();
              },
          .http =
              [this](std::string_view method, std::string_view target, std::string_view body) {
                if (!instance_) return;
                net::ServerRequest request;
                request.method = method;
                request.target = target;
                request.body = body;
                request.tls = true;
                instance_->handle(std::move(request), std::make_shared<NoResponder>());
              }};
}

void ReplayedInstance::refuse(std::string why) {
  problem_ = std::move(why);
  replayer_.stop();
}

void ReplayedInstance::begin() {
  if (instance_) return refuse("the recording begins twice");
  const bool extended = !settings_.scheduler.configuration.extenders.empty();
  ServiceState service;
  service.unhealthy = [] { return std::string(); };
  service.stopping = [] { return false; };
  service.clientMetrics = [] { return std::string(); };
  kube::Api& api = hooks_.wrapApi ? hooks_.wrapApi(api_, replayer_) : api_;
  auto instance = Instance::create(settings_, registry_,
                                   {replayer_, api, extended ? &http_ : nullptr, idle_->loop,
                                    idle_->metrics, nullptr, std::move(service)});
  if (!instance) return refuse(std::move(instance.error().message));
  instance_ = *std::move(instance);
  auto& hooks = instance_->scheduler().hooks();
  hooks.decided = [this](const std::string& pod, const Decision& decision) {
    if (hooks_.decided) hooks_.decided(*instance_, pod, decision);
    replayer_.output(Item::Decision, 0, encodeDecision(textOf(pod, decision)));
  };
  hooks.attempting = [this](const PodInfo& pod, int attempt) {
    if (hooks_.attempting) hooks_.attempting(*instance_, pod, attempt);
  };
}

}  // namespace koord::scheduler
