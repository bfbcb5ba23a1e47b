#include "cluster/screen/live/feed.h"

#include <unistd.h>

#include "cluster/screen/live/line_output.h"
#include "cluster/screen/overview.h"

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {

constexpr Duration kPeriod = 1s;
constexpr Duration kPlainPeriod = 5s;
constexpr Duration kExplainPeriod = 5s;
constexpr Duration kBusyPause = 200ms;  // answers do not pile up for a terminal that does not read

template <class T>
std::vector<std::shared_ptr<const T>> allOf(const kube::Informer<T>* informer) {
  if (!informer) return {};
  return {informer->objects().begin(), informer->objects().end()};
}

}  // namespace

Feed::Feed(Executor& executor, FeedOptions options)
    : executor_(executor), options_(std::move(options)) {}

Feed::~Feed() {
  *alive_ = false;
}

void Feed::start() {
  viewer_ = Viewer::open(executor_, options_.quitQuestion,
                         {[this, alive = alive_](PaneKind pane, std::optional<Subject> opened) {
                            if (*alive) shown(pane, std::move(opened));
                          },
                          [this, alive = alive_] {
                            if (*alive) options_.onQuit();
                          }});
  tasks_.spawn(showForever());
}

Task<void> Feed::showForever() {
  while (true) {
    auto asking = queryKoordlet();
    co_await asking;
    publish();
    auto pause = sleepFor(executor_, kPeriod);
    co_await pause;
  }
}

void Feed::publish() {
  if (!viewer_) return print(snapshot());
  if (viewer_->isIdle()) viewer_->show(snapshot());
}

void Feed::shown(PaneKind pane, std::optional<Subject> opened) {
  const bool events = pane == PaneKind::Events || (opened && opened->kind == Subject::Kind::Pod);
  if (events && !events_) {
    events_ = std::make_unique<kube::Informer<api::Event>>(*options_.api, executor_,
                                                           kube::WatchScope{.optional = true});
    events_->onSynced([this] { publish(); });
    events_->start();
  }
  const bool quotas = pane == PaneKind::Quotas;
  if (quotas && !quotas_) {
    quotas_ = std::make_unique<kube::Informer<api::ElasticQuota>>(
        *options_.api, executor_, kube::WatchScope{.optional = true});
    quotas_->onSynced([this] { publish(); });
    quotas_->start();
  }
  if (opened == opened_) return;
  opened_ = std::move(opened);
  ++round_;
  if (opened_ && options_.explain) tasks_.spawn(explainForever(round_));
}

// Until something else is opened.
Task<void> Feed::explainForever(int round) {
  const Subject subject = *opened_;
  while (round == round_) {
    if (viewer_ && !viewer_->isIdle()) {
      auto pause = sleepFor(executor_, kBusyPause);
      co_await pause;
      continue;
    }
    Question question = options_.question;
    question.executor = &executor_;
    question.subject = subject;
    auto asking = options_.explain(std::move(question));
    auto text = co_await asking;
    if (round != round_ || !viewer_) co_return;
    viewer_->answer(subject,
                    text ? documentOf(*text) : documentOf(text.error().message, Style::Warning));
    auto pause = sleepFor(executor_, kExplainPeriod);
    co_await pause;
  }
}

Task<void> Feed::queryKoordlet() {
  if (options_.koordlet.empty()) co_return;
  net::HttpRequest request;
  request.url = options_.koordlet + "/apis/v1/qos";
  request.timeout = 1s;
  auto fetching = options_.http->fetch(executor_, std::move(request));
  auto reply = co_await fetching;
  // While it does not answer, its last answer stays, with its age.
  if (!reply || reply->status != 200) co_return;
  auto document = parseJson(reply->body);
  if (!document) co_return;
  qos_ = *std::move(document);
  qosAt_ = executor_.steadyNow();
}

Snapshot Feed::snapshot() const {
  Snapshot snapshot;
  Objects& objects = snapshot.objects;
  objects.nodes = allOf(options_.nodes);
  objects.pods = allOf(options_.pods);
  objects.metrics = allOf(options_.metrics);
  objects.migrations = allOf(options_.migrations);
  objects.events = allOf(events_.get());
  objects.quotas = allOf(quotas_.get());
  if (options_.sloConfig)
    objects.sloConfig = options_.sloConfig->get({"koordinator-system", "slo-controller-config"});
  objects.now = executor_.wallNow();
  if (qos_.is_object()) {
    snapshot.status.qos.push_back(describeQos(qos_));
    snapshot.status.qos.back().age = executor_.steadyNow() - qosAt_;
  }
  if (options_.complete) options_.complete(snapshot.status);
  return snapshot;
}

void Feed::print(const Snapshot& snapshot) {
  if (lastShown_ != SteadyTime{} && executor_.steadyNow() - lastShown_ < kPlainPeriod) return;
  ClusterStatus status = snapshot.status;
  summarize(snapshot.objects, status);
  std::string line = statusLine(status);
  if (line == lastLine_) return;
  if (!writeLine(STDOUT_FILENO, line)) return;
  lastShown_ = executor_.steadyNow();
  lastLine_ = std::move(line);
}

}  // namespace koord::cluster
