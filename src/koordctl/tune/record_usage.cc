#include "koordctl/tune/record_usage.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "base/event_loop.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/time.h"
#include "koordctl/common/kubeconfig_choice.h"
#include "koordctl/tune/usage_writer.h"
#include "kube/client.h"
#include "kube/http_api.h"
#include "kube/informer.h"
#include "net/http_client.h"

namespace koord::koordctl {

namespace {

constexpr Duration kProgress = std::chrono::minutes(1);

class UsageFollower {
 public:
  UsageFollower(EventLoop& loop, kube::Api& api, UsageWriter writer, std::string file)
      : loop_(loop),
        api_(api),
        writer_(std::move(writer)),
        file_(std::move(file)),
        metrics_(api, loop) {}

  // Looks first whether there are NodeMetrics, because an informer waits for them without end.
  static Task<void> start(UsageFollower* self, Duration time) {
    kube::Request request = kube::listRequest(api::NodeMetric::kType, "", "", "");
    request.query["limit"] = "1";
    auto asking = self->api_.call(std::move(request));
    auto reply = co_await asking;
    if (!reply) {
      self->failure_ = explained(std::move(reply.error()));
      self->loop_.stop();
      co_return;
    }
    self->follow(time);
  }

  // What went wrong; nullopt: nothing.
  const std::optional<Error>& failure() const { return failure_; }
  std::size_t samples() const { return writer_.samples(); }
  void spawnStart(Duration time) { tasks_.spawn(start(this, time)); }

 private:
  static Error explained(Error error) {
    if (error.code == ErrorCode::NotFound)
      error.message =
          "the cluster has no NodeMetrics (CustomResourceDefinition "
          "nodemetrics.slo.koordinator.sh): install Koordinator";
    return std::move(error).within("nodemetrics");
  }

  void follow(Duration time) {
    using Metric = kube::Informer<api::NodeMetric>::Object;
    metrics_.addHandler({.onAdd = [this](const Metric& metric) { take(*metric); },
                         .onUpdate = [this](const Metric&, const Metric& now) { take(*now); },
                         .onDelete = {}});
    metrics_.start();
    if (time > Duration::zero()) loop_.runAfter(time, [this] { loop_.stop(); });
    progress();
  }

  void take(const api::NodeMetric& metric) {
    if (failure_) return;
    if (auto added = writer_.add(metric); !added) {
      failure_ = std::move(added.error());
      loop_.stop();
    }
  }

  void progress() {
    loop_.runAfter(kProgress, [this] {
      std::fprintf(stderr, "%s: %zu samples of pods on %zu nodes%s\n", file_.c_str(),
                   writer_.samples(), metrics_.size(),
                   metrics_.synced() ? "" : "; the API server has not answered yet");
      progress();
    });
  }

  EventLoop& loop_;
  kube::Api& api_;
  UsageWriter writer_;
  std::string file_;
  kube::Informer<api::NodeMetric> metrics_;
  std::optional<Error> failure_;
  TaskGroup tasks_;
};

}  // namespace

int recordUsage(const RecordUsageFlags& flags, const std::string& file) {
  const auto failed = [](const Error& error) {
    std::fprintf(stderr, "koordctl: %s\n", error.message.c_str());
    return 2;
  };
  const KubeconfigChoice choice = chooseKubeconfig(flags.kubeconfig);
  auto config = loadChoice(choice);
  if (!config) return failed(explainFailure(choice, config.error()));
  auto writer = UsageWriter::open(file);
  if (!writer) return failed(writer.error());
  log::setup({.program = "koordctl"});
  EventLoop loop;
  SignalWatcher signals(loop, [&](int) { loop.stop(); });
  net::HttpClient http({.userAgent = "koordctl"});
  kube::HttpApi api(http, loop, *std::move(config));
  UsageFollower recording(loop, api, *std::move(writer), file);
  loop.post([&] { recording.spawnStart(flags.time); });
  loop.run();
  if (recording.failure()) return failed(explainFailure(choice, *recording.failure()));
  if (recording.samples() == 0)
    return failed({ErrorCode::NotFound,
                   file + ": nothing was recorded: no NodeMetric names a pod. Does koordlet run?",
                   {}});
  std::printf("%s: %zu samples\n", file.c_str(), recording.samples());
  return 0;
}

}  // namespace koord::koordctl
