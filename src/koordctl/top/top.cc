#include "koordctl/top/top.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/event_loop.h"
#include "base/log.h"
#include "base/signals.h"
#include "cluster/screen/live/screen.h"
#include "cluster/up/components.h"
#include "koordctl/common/kubeconfig_choice.h"
#include "koordctl/explain/screen_explain.h"
#include "kube/client.h"
#include "kube/http_api.h"
#include "net/http_client.h"

namespace koord::koordctl {

namespace {

using namespace std::chrono_literals;

constexpr Duration kHeartbeat = 5s;

// The cluster as local copies of its objects.
class Top {
 public:
  Top(EventLoop& loop, net::HttpClient& http, cluster::Screen& screen, const TopFlags& flags,
      const KubeconfigChoice& choice, kube::ClientConfig config)
      : loop_(loop),
        http_(http),
        screen_(screen),
        flags_(flags),
        choice_(choice),
        server_(config.server),
        api_(http, loop, std::move(config)),
        nodes_(api_, loop),
        pods_(api_, loop),
        metrics_(api_, loop, {.optional = true}),
        migrations_(api_, loop, {.optional = true}),
        leases_(api_, loop, {.namespace_ = "koordinator-system", .optional = true}),
        sloConfig_(api_, loop,
                   {.namespace_ = "koordinator-system",
                    .fieldSelector = "metadata.name=slo-controller-config",
                    .optional = true}) {}

  void start() { tasks_.spawn(begin()); }
  int status() const { return status_; }

 private:
  // Asks first, since informers wait for a server that does not answer.
  Task<void> begin() {
    auto asking = tryToList();
    auto answer = co_await asking;
    if (!answer) {
      std::fprintf(stderr, "koordctl: %s\n",
                   explainFailure(choice_, std::move(answer.error())).message.c_str());
      status_ = 1;
      loop_.stop();
      co_return;
    }
    nodes_.start();
    pods_.start();
    metrics_.start();
    migrations_.start();
    leases_.start();
    sloConfig_.start();
    while (!nodes_.synced() || !pods_.synced()) {
      auto pause = sleepFor(loop_, 10ms);
      co_await pause;
    }
    show();
    tasks_.spawn(watchServer());
  }

  // Lists one node and one pod, as the informers will.
  Task<Result<>> tryToList() {
    for (const auto* type : {&api::Node::kType, &api::Pod::kType}) {
      auto request = kube::listRequest(*type, "", "", "");
      request.query["limit"] = "1";
      auto calling = api_.call(std::move(request));
      auto reply = co_await calling;
      if (!reply) co_return fail(std::move(reply.error()));
    }
    co_return Result<>{};
  }

  // Local copies stay as they are while the server does not answer.
  Task<void> watchServer() {
    while (true) {
      auto pause = sleepFor(loop_, kHeartbeat);
      co_await pause;
      auto asking = tryToList();
      auto answer = co_await asking;
      if (answer) {
        answered_ = loop_.steadyNow();
        silence_.clear();
      } else {
        silence_ = answer.error().message;
      }
    }
  }

  void show() {
    answered_ = loop_.steadyNow();
    cluster::FeedOptions feed;
    feed.nodes = &nodes_;
    feed.pods = &pods_;
    feed.metrics = &metrics_;
    feed.migrations = &migrations_;
    feed.sloConfig = &sloConfig_;
    feed.api = &api_;
    feed.http = &http_;
    for (const auto& folder : dataDirsOf(choice_))
      if (feed.koordlet.empty()) feed.koordlet = cluster::componentUrl(folder, "koordlet");
    feed.explain = explainOnScreen;
    feed.question.kubeconfig = flags_.kubeconfig;
    feed.question.scheduler = flags_.scheduler;
    feed.question.manager = flags_.manager;
    feed.complete = [this](cluster::ClusterStatus& status) { describe(status); };
    feed.onQuit = [this] { loop_.stop(); };
    screen_.start(loop_, std::move(feed));
  }

  void describe(cluster::ClusterStatus& status) const {
    status.server = server_;
    if (!choice_.files.empty()) status.kubeconfig = choice_.files.front();
    if (!silence_.empty())
      status.notes.push_back(fmt::format("the API server does not answer, this is from {} ago: {}",
                                         cluster::ageText(loop_.steadyNow() - answered_),
                                         silence_));
    const WallTime now = loop_.wallNow();
    for (const auto& lease : leases_.objects()) {
      cluster::ComponentLine line{
          lease->metadata.name, "leading", {}, {}, lease->spec.holderIdentity};
      if (line.where.empty()) line.state = "no leader";
      if (lease->spec.renewTime) line.age = now - lease->spec.renewTime->time;
      status.components.push_back(std::move(line));
    }
    std::ranges::sort(status.components, {}, &cluster::ComponentLine::name);
  }

  EventLoop& loop_;
  net::HttpClient& http_;
  cluster::Screen& screen_;
  const TopFlags& flags_;
  const KubeconfigChoice& choice_;
  const std::string server_;
  kube::HttpApi api_;
  kube::Informer<api::Node> nodes_;
  kube::Informer<api::Pod> pods_;
  kube::Informer<api::NodeMetric> metrics_;
  kube::Informer<api::PodMigrationJob> migrations_;
  kube::Informer<api::Lease> leases_;
  kube::Informer<api::ConfigMap> sloConfig_;
  SteadyTime answered_{};
  std::string silence_;  // why the server does not answer
  int status_ = 0;
  TaskGroup tasks_;
};

}  // namespace

int runTop(const TopFlags& flags) {
  const KubeconfigChoice choice = chooseKubeconfig(flags.kubeconfig);
  auto config = loadChoice(choice);
  if (!config) {
    std::fprintf(stderr, "koordctl: %s\n", explainFailure(choice, config.error()).message.c_str());
    return 1;
  }
  // The terminal belongs to the screen.
  log::setup({.program = "koordctl", .file = "/dev/null"});
  EventLoop loop;
  cluster::Screen screen(false);
  SignalWatcher signals(loop, [&](int) { loop.stop(); });
  net::HttpClient http({.userAgent = "koordctl"});
  Top top(loop, http, screen, flags, choice, *std::move(config));
  loop.post([&] { top.start(); });
  loop.run();
  screen.leave();
  return top.status();
}

}  // namespace koord::koordctl
