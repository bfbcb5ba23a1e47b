#include "scheduler/oracle/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/codec.h"
#include "base/aside.h"
#include "kube/client.h"
#include "net/answering.h"
#include "net/serving.h"
#include "net/url.h"

namespace koord::scheduler::oracle {

namespace {

// Many courses are played (starts/starts.h).
constexpr ForkLimits kStartsLimits{.time = std::chrono::seconds(15)};

// Different rights of one question.
constexpr std::size_t kMaxRights = 1'000;
constexpr std::chrono::milliseconds kLookEvery{10};  // between looks at questions that wait

std::string messageOf(std::string_view text) {
  return toJson(json::object{{"message", text}});
}

// Invalid questions are the caller's mistake, whatever the code says.
int statusOf(const Error& error) {
  switch (error.code) {
    case ErrorCode::Invalid:
    case ErrorCode::BadRequest:
      return 400;
    case ErrorCode::Timeout:
      return 504;
    case ErrorCode::Cancelled:
      return 503;
    default:
      return httpStatusOf(error.code);
  }
}

Result<Question> questionIn(const std::string& text) {
  const auto document = parseJson(text);
  if (!document) return fail(Error(document.error()));
  return readQuestion(*document);
}

}  // namespace

// One of the places for simulations that run or wait.
class Service::Place {
 public:
  Place(std::set<Cancelled>& asking, Cancelled cancelled)
      : asking_(asking), cancelled_(std::move(cancelled)) {
    asking_.insert(cancelled_);
  }
  ~Place() { asking_.erase(cancelled_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  std::set<Cancelled>& asking_;
  const Cancelled cancelled_;
};

Service::Service(Executor& executor, kube::Api& api, const Registry& registry,
                 std::function<Askable()> subject, ServiceLimits limits)
    : executor_(executor),
      api_(api),
      registry_(registry),
      subject_(std::move(subject)),
      limits_(limits),
      forks_(subject_, registry_, limits_.atOnce) {}

Service::~Service() {
  executor_.cancel(looking_);
  for (const Cancelled& simulation : asking_) *simulation = true;
}

bool Service::concerns(const net::ServerRequest& request) {
  const auto target = net::parseTarget(request.target);
  return target && target->path == kPath;
}

void Service::handle(net::ServerRequest request, std::shared_ptr<net::Responder> to,
                     std::shared_ptr<const kube::Caller> caller) {
  const std::string what = request.method + " " + request.target;
  auto cancelled = std::make_shared<std::atomic<bool>>(false);
  to->onClosed([cancelled] { *cancelled = true; });
  tasks_.spawn(net::runHandler(
      what, to, respond(std::move(request), to, std::move(caller), std::move(cancelled))));
}

Task<void> Service::respond(net::ServerRequest request, std::shared_ptr<net::Responder> to,
                            std::shared_ptr<const kube::Caller> caller, Cancelled cancelled) {
  auto replying = reply(request, *caller, cancelled);
  Reply reply = co_await replying;
  net::Headers headers{{"Content-Type", "application/json"}, {"X-Content-Type-Options", "nosniff"}};
  if (reply.status == 429) headers.push_back({"Retry-After", "1"});
  to->respond(reply.status, std::move(headers), std::move(reply.body));
}

Task<Service::Reply> Service::reply(const net::ServerRequest& request, const kube::Caller& caller,
                                    const Cancelled& cancelled) {
  const auto refused = [](const Error& error) {
    return Reply{statusOf(error), messageOf(error.message)};
  };
  if (request.method != "POST") co_return Reply{405, messageOf("use POST")};
  if (request.body.size() > kMaxQuestionBytes)
    co_return Reply{
        413, messageOf(fmt::format("a question has at most {} MiB", kMaxQuestionBytes >> 20))};
  if (const Askable subject = subject_(); !subject.scheduler)
    co_return Reply{503, messageOf(subject.absent)};
  if (asking_.size() >= limits_.atOnce + limits_.waiting)
    co_return Reply{429, messageOf(fmt::format("at most {} simulations run at once, and {} wait",
                                               limits_.atOnce, limits_.waiting))};
  const Place place(asking_, cancelled);
  auto reading = aside(executor_, [&request] { return questionIn(request.body); });
  const auto question = co_await reading;
  if (!question) co_return refused(question.error());
  auto answering = visibleAnswer(*question, caller, cancelled);
  const auto answer = co_await answering;
  if (!answer) co_return refused(answer.error());
  auto writing = aside(executor_, [&answer] { return toJson(*answer); });
  auto text = co_await writing;
  co_return Reply{200, std::move(text)};
}

Task<Result<json::value>> Service::visibleAnswer(const Question& question,
                                                 const kube::Caller& caller,
                                                 const Cancelled& cancelled) {
  const Askable subject = subject_();
  if (!subject.scheduler) co_return fail(ErrorCode::Unavailable, subject.absent);
  Scheduler& scheduler = *subject.scheduler;
  const std::string& home = scheduler.configuration().leaderElection.resourceNamespace;
  std::vector<kube::ResourceAccess> rights = rightsFor(question, home);
  std::ranges::move(rightsToChange(question, scheduler), std::back_inserter(rights));
  if (rights.size() > kMaxRights)
    co_return fail(ErrorCode::Invalid, fmt::format("a question needs at most {} different rights, "
                                                   "of kinds in namespaces",
                                                   kMaxRights));
  auto checking = checkRights(caller, std::move(rights));
  const auto allowed = co_await checking;
  if (!allowed) co_return fail(Error(allowed.error()));
  auto listing = podsToMove(caller, question);
  const auto pods = co_await listing;
  if (!pods) co_return fail(Error(pods.error()));
  auto simulating = simulate(question, *pods, cancelled);
  auto answer = co_await simulating;
  if (!answer) co_return answer;
  auto hiding = visiblePart(caller, *std::move(answer));
  auto visible = co_await hiding;
  co_return visible;
}

Task<Result<>> Service::checkRights(const kube::Caller& caller,
                                    std::vector<kube::ResourceAccess> rights) {
  for (const kube::ResourceAccess& right : rights) {
    auto asking = caller.may(right);
    const auto allowed = co_await asking;
    if (!allowed) co_return fail(Error(allowed.error()));
    if (!*allowed)
      co_return fail(ErrorCode::Forbidden,
                     fmt::format("user \"{}\" cannot {}: a simulation needs the rights to do what "
                                 "it supposes",
                                 caller.name(), describe(right)));
  }
  co_return Result<>{};
}

Task<Result<CompletePods>> Service::podsToMove(const kube::Caller& caller,
                                               const Question& question) {
  CompletePods pods;
  std::set<std::string> spaces;
  std::vector<std::string> nodes = question.drainNodes;
  nodes.insert(nodes.end(), question.loseNodes.begin(), question.loseNodes.end());
  for (const std::string& node : nodes) {
    std::string everywhere, labels;
    std::string fields = "spec.nodeName=" + node;
    auto listing = kube::list<api::Pod>(api_, everywhere, labels, std::move(fields));
    auto found = co_await listing;
    if (!found) co_return fail(std::move(found.error()).within("pods of node " + node));
    for (api::Pod& pod : found->items) {
      spaces.insert(pod.metadata.namespace_);
      std::string uid = pod.metadata.uid;
      pods.emplace(std::move(uid), std::make_shared<const api::Pod>(std::move(pod)));
    }
  }
  for (const std::string& space : spaces) {
    auto asking = caller.may(rightToEvict(space));
    const auto allowed = co_await asking;
    if (!allowed) co_return fail(Error(allowed.error()));
    // Without the name of the namespace: who may not evict its pods may not know it, either.
    if (!*allowed)
      co_return fail(ErrorCode::Forbidden,
                     fmt::format("user \"{}\" cannot create pods/eviction in each namespace that "
                                 "has pods on the nodes",
                                 caller.name()));
  }
  co_return pods;
}

Task<Result<json::value>> Service::simulate(const Question& question, const CompletePods& pods,
                                            const Cancelled& cancelled) {
  using Started = Result<SharedForks::Started>;
  auto [future, completer] = Future<Started>::make(executor_);
  forks_.add({.asked = {&question, &pods},
              .limits = question.when ? kStartsLimits : ForkLimits(),
              .cancelled = cancelled,
              .started = [completer = completer](Started started) {
                completer.complete(std::move(started));
              }});
  look();
  auto started = co_await future;
  if (!started) co_return fail(std::move(started.error()));
  auto waiting = aside(
      executor_, [&child = started->answer, &cancelled = *cancelled]() -> Result<json::value> {
        const auto text = answerOf(std::move(child), cancelled);
        if (!text) return fail(Error(text.error()));
        return parseJson(*text);
      });
  auto answer = co_await waiting;
  co_return answer;
}

// A question that arrives alone need not wait: it looks at once.
void Service::look() {
  executor_.cancel(std::exchange(looking_, 0));
  forks_.look();
  if (!forks_.empty()) looking_ = executor_.runAfter(kLookEvery, [this] { look(); });
}

}  // namespace koord::scheduler::oracle
