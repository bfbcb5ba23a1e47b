#include "console/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ranges>

#include "base/random.h"
#include "console/history/sampler.h"
#include "console/history/visible.h"
#include "console/node_detail.h"
#include "console/page/page.h"
#include "console/rows/rows.h"
#include "kube/client.h"
#include "net/answering.h"
#include "net/url.h"

namespace koord::console {

namespace {

using namespace std::chrono_literals;

constexpr Duration kAskServer = 5s;
constexpr Duration kOverdue = kAskServer + 5s;  // a server that is asked and has not answered
constexpr Duration kFirstSample = 2s;
constexpr std::size_t kPoints = 480;                      // of a chart
constexpr std::int64_t kLongestHistory = 31 * 24 * 3600;  // seconds
constexpr std::size_t kNamedNamespaces = 64;
constexpr std::size_t kShownNamespaces = 8;
// Foreign pages cannot send it without asking the console, which does not allow it.
constexpr std::string_view kOwnPage = "X-Koordinator-Console";

// 192 bits from the operating system.
std::string newToken() {
  return fmt::format("{:016x}{:016x}{:016x}", Random::entropy(), Random::entropy(),
                     Random::entropy());
}

// Takes the same time for all tokens of this length.
bool equalTokens(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

// Other failures are those of the programs that were asked.
int statusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::Invalid:
      return 400;
    case ErrorCode::BadRequest:
    case ErrorCode::Forbidden:
    case ErrorCode::NotFound:
    case ErrorCode::RequestEntityTooLarge:
    case ErrorCode::TooManyRequests:
    case ErrorCode::Timeout:
      return httpStatusOf(code);
    default:
      return 502;
  }
}

void refuse(net::Responder& responder, int status, std::string message) {
  net::sendJson(responder, status, json::object{{"message", std::move(message)}});
}

// login: what the page asks for, "address" of koordctl or "token" of the cluster.
void refuseLogin(net::Responder& responder, std::string_view login, std::string message) {
  net::sendJson(responder, 401, json::object{{"message", std::move(message)}, {"login", login}});
}

// The path as the router sees it: a target may be escaped, or have a scheme and a host.
bool isOfData(const net::ServerRequest& request) {
  const auto target = net::parseTarget(request.target);
  return !target || target->path.starts_with("/api");
}

// The history in memory, and why there is none that is older.
json::value withProblem(json::value own, std::string problem) {
  json::value history = joinHistory(json::object(), std::move(own));
  history.get_object()["problem"] = std::move(problem);
  return history;
}

std::vector<std::string> namesIn(std::string_view list) {
  std::vector<std::string> names;
  for (const auto part : list | std::views::split(','))
    if (names.size() < kNamedNamespaces && !part.empty())
      names.emplace_back(part.begin(), part.end());
  return names;
}

}  // namespace

template <class T>
void Console::addTable(const char* name) {
  Table::Read read = [](const kube::Received& received) -> Result<std::optional<Row>> {
    auto object = received.as<T>();
    if (!object) return fail(std::move(object.error()));
    return rowOf(*object);
  };
  tables_.push_back(std::make_unique<Table>(name, T::kType, std::move(read), api_, executor_,
                                            [this] { feed_->changed(); }));
  kinds_.push_back(&T::kType);
}

Console::Console(kube::Api& api, Executor& executor, ConsoleOptions options)
    : api_(api), executor_(executor), options_(std::move(options)), token_(newToken()) {
  feed_ = std::make_unique<Feed>(
      executor, tables_, [this](const Viewer& viewer) { return status(viewer); },
      newToken().substr(0, 8));
  // As TableId. Nodes before pods: the page can show them while pods arrive.
  addTable<api::Node>("nodes");
  addTable<api::NodeMetric>("metrics");
  addTable<api::ElasticQuota>("quotas");
  addTable<api::PodGroup>("gangs");
  addTable<api::PodMigrationJob>("moves");
  addTable<api::Reservation>("reservations");
  addTable<api::Pod>("pods");
  if (options_.shared)
    viewers_ = std::make_unique<Viewers>(
        executor, kinds_, [this] { return namespaces(); },
        [this] {
          feed_->sendStatus();
          feed_->changed();
        });
}

Console::~Console() = default;

void Console::serve(net::ServerRequest request, Responding responder, Viewing viewer) {
  net::Router router;
  router.add("GET", "/", [](net::RoutedRequest asked, Responding to) { servePage(asked, *to); });
  router.add("GET", "/api/v1/feed", [&](net::RoutedRequest asked, Responding to) {
    feed_->open(std::move(to), asked.target.param("since"), viewer);
  });
  for (const auto& [method, path] : {std::pair("GET", "/api/v1/node"),
                                     {"GET", "/api/v1/history"},
                                     {"GET", "/api/v1/explain"},
                                     {"POST", "/api/v1/simulate"}})
    router.add(method, path, [&](net::RoutedRequest asked, Responding to) {
      const std::string what = asked.target.path;
      auto handling = answer(std::move(asked), to, viewer);
      tasks_.spawn(net::runHandler(what, to, std::move(handling)));
    });
  router.add("", "/api/", [](net::RoutedRequest, Responding to) {
    refuse(*to, 404, "this path does not exist");
  });
  router.handle(std::move(request), std::move(responder));
}

// For requests without an identity: no route leads to data, whatever the path.
void Console::servePageOnly(net::ServerRequest request, Responding responder) {
  net::Router router;
  router.add("GET", "/", [](net::RoutedRequest asked, Responding to) { servePage(asked, *to); });
  router.handle(std::move(request), std::move(responder));
}

void Console::start() {
  answeredAt_ = executor_.steadyNow();
  for (const auto& table : tables_) table->start(options_.ownNamespace);
  if (viewers_) viewers_->start();
  tasks_.spawn(sampleForever());
  tasks_.spawn(watchServer());
}

Result<> Console::listen(const std::string& address) {
  auto server = net::HttpServer::start(
      executor_, {.listen = address, .maxConnections = 256, .maxBodyBytes = kMostQuestionBytes},
      [this](net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
        handle(std::move(request), std::move(responder));
      });
  if (!server) return fail(std::move(server.error()));
  server_ = *std::move(server);
  address_ = server_->address();
  return {};
}

std::string Console::url() const {
  return address_.empty() ? std::string() : fmt::format("http://{}/#token={}", address_, token_);
}

Task<void> Console::shutdown(Duration grace) {
  if (!server_) co_return;
  auto ending = server_->shutdown(grace);
  co_await ending;
}

void Console::handle(net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
  if (!authenticate(request, *responder)) return;
  serve(std::move(request), std::move(responder), owner());
}

void Console::handleAs(net::ServerRequest request, Responding responder,
                       std::shared_ptr<const kube::Caller> caller) {
  if (!isOfData(request)) return servePageOnly(std::move(request), std::move(responder));
  if (caller->name() == "system:anonymous" || caller->name().empty())
    return refuseLogin(*responder, "token", "a token of the cluster is needed");
  responder->authenticated();
  const auto target = net::parseTarget(request.target);
  auto first = target ? namesIn(target->param("namespaces")) : std::vector<std::string>();
  const std::string what = request.method + " " + request.target;
  auto admitting = admit(std::move(request), responder, std::move(caller), std::move(first));
  tasks_.spawn(net::runHandler(what, responder, std::move(admitting)));
}

Task<void> Console::admit(net::ServerRequest request, Responding responder,
                          std::shared_ptr<const kube::Caller> caller,
                          std::vector<std::string> first) {
  if (request.method == "POST" && net::headerOf(request.headers, kOwnPage).empty())
    co_return refuse(*responder, 403, "the request is not from the page of the console");
  auto admitting = viewers_->admit(std::move(caller), std::move(first));
  auto viewer = co_await admitting;
  if (!viewer) {
    const int status = viewer.error().code == ErrorCode::TooManyRequests ? 429 : 503;
    co_return refuse(*responder, status, viewer.error().message);
  }
  serve(std::move(request), std::move(responder), *std::move(viewer));
}

std::set<std::string, std::less<>> Console::namespaces() {
  std::vector<ChangeLog::Number> latest;
  for (const auto& table : tables_) latest.push_back(table->rows().latest());
  if (latest == namespacesOf_) return namespaces_;
  namespacesOf_ = std::move(latest);
  namespaces_.clear();
  for (std::size_t table = 0; table < tables_.size(); ++table) {
    if (!kinds_[table]->namespaced) continue;
    tables_[table]->rows().forEach([&](const Row& row) {
      const std::string_view place = std::string_view(row.key).substr(0, row.key.find('/'));
      if (!namespaces_.contains(place)) namespaces_.emplace(place);
    });
  }
  return namespaces_;
}

bool Console::isOwnHost(std::string_view host) const {
  if (host == address_) return true;
  const std::string_view name = host.substr(0, host.rfind(':'));
  return name == "localhost" || name == "127.0.0.1" || name == "[::1]";
}

bool Console::authenticate(const net::ServerRequest& request, net::Responder& responder) const {
  if (!isOwnHost(net::headerOf(request.headers, "Host"))) {
    refuse(responder, 403, "the header Host does not name the console");
    return false;
  }
  if (!isOfData(request)) return true;
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view given = net::headerOf(request.headers, "Authorization");
  if (given.starts_with(kBearer) && equalTokens(given.substr(kBearer.size()), token_)) return true;
  refuseLogin(responder, "address",
              "the token is not valid: open the address that koordctl has printed");
  return false;
}

const ChangeLog& Console::rowsOf(TableId table) const {
  return tables_[static_cast<std::size_t>(table)]->rows();
}

json::value Console::accessOf(std::size_t table, const Viewer& viewer) const {
  const Access& own = tables_[table]->access();
  const auto view = viewer.view();
  if (!viewer.caller() || !view || view->parts[table].all) return accessJson(own);
  const Part& part = view->parts[table];
  if (part.none())
    return accessJson({Access::State::Forbidden,
                       fmt::format("user \"{}\" may not list and watch {} in the whole cluster{}",
                                   viewer.caller()->name(), kinds_[table]->plural,
                                   kinds_[table]->namespaced ? ", nor in a namespace" : ""),
                       ""});
  if (own.state > Access::State::Namespace) return accessJson(own);
  json::array shown;
  for (const auto& place : part.namespaces | std::views::take(kShownNamespaces))
    shown.push_back(json::string(place));
  return json::object{{"state", "namespaces"},
                      {"namespaces", std::move(shown)},
                      {"count", part.namespaces.size()},
                      {"bounded", view->bounded}};
}

json::value Console::status(const Viewer& viewer) const {
  const Duration silent = executor_.steadyNow() - answeredAt_;
  json::object access;
  for (std::size_t table = 0; table < tables_.size(); ++table)
    access[tables_[table]->name()] = accessOf(table, viewer);
  json::object out{
      {"now", std::chrono::duration<double>(executor_.wallNow().time_since_epoch()).count()},
      {"cluster", options_.cluster},
      {"version", options_.version},
      {"explains", options_.explain != nullptr},
      {"simulates", options_.simulate != nullptr || options_.simulateAs != nullptr},
      {"older", options_.prometheus != nullptr},
      {"access", std::move(access)}};
  if (viewer.caller()) out["user"] = viewer.caller()->name();
  if (auto why = silence(); !why.empty()) {
    out["silent"] = silent / 1s;
    out["why"] = std::move(why);
  }
  if (options_.notes) {
    json::array notes;
    for (auto& note : options_.notes()) notes.emplace_back(std::move(note));
    out["notes"] = std::move(notes);
  }
  return out;
}

std::string Console::silence() const {
  if (!failure_.empty()) return failure_;
  return executor_.steadyNow() - answeredAt_ > kOverdue ? "the last request is without an answer"
                                                        : "";
}

std::vector<ColumnQuery> Console::olderQueries(std::string_view series, const View& view) const {
  std::vector<ColumnQuery> queries;
  if (series == "cluster") {
    queries = clusterQueries();
  } else if (series.starts_with("node/")) {
    const std::string name(series.substr(5));
    if (const Row* row = rowsOf(TableId::Nodes).find(name))
      queries = nodeQueries(name, row->figures.cpu, row->figures.memory);
  } else if (series.starts_with("quota/") && view.of(TableId::Quotas).all) {
    // The metrics of quotas have no namespace: only a name that one quota has is that quota's. It
    // could have been that of a deleted quota of any namespace, so a viewer of a part has none.
    const std::string key(series.substr(6));
    const std::string name = key.substr(key.find('/') + 1);
    std::size_t equal = 0;
    rowsOf(TableId::Quotas).forEach([&](const Row& row) {
      if (row.key.substr(row.key.find('/') + 1) == name) ++equal;
    });
    if (equal == 1 && rowsOf(TableId::Quotas).find(key)) queries = quotaQueries(name);
  }
  std::erase_if(
      queries, [&](const ColumnQuery& query) { return !mayReadColumn(series, query.first, view); });
  return queries;
}

Task<Result<json::value>> Console::historyOf(const net::Target& target, Viewing viewer) {
  std::int64_t seconds = 3600;
  const auto given = target.param("seconds");
  std::from_chars(given.data(), given.data() + given.size(), seconds);
  seconds = std::clamp<std::int64_t>(seconds, 0, kLongestHistory);
  const std::string series(target.param("series"));
  const auto view = viewer->view();
  if (!view) co_return fail(ErrorCode::Unavailable, "your rights cannot be checked");
  auto own = visibleHistory(history_.query(series, seconds, kPoints), series, *view);
  auto queries = options_.prometheus ? olderQueries(series, *view) : std::vector<ColumnQuery>();
  if (queries.empty()) co_return own;
  const std::int64_t now =
      std::chrono::floor<std::chrono::seconds>(executor_.wallNow()).time_since_epoch().count();
  std::int64_t to = now;
  if (const json::value* times = own ? find(*own, "times") : nullptr;
      times && times->is_array() && !times->get_array().empty())
    to = wholeNumber(times->get_array().front()).value_or(now);
  if (!own) own = json::value(json::object());
  const TimeGrid grid = TimeGrid::over(now - seconds, to, kPoints);
  if (grid.points == 0) co_return own;
  const auto place = older_.take(*viewer);
  if (!place) co_return withProblem(*std::move(own), "too many questions about older history");
  auto asking = options_.prometheus->read(std::move(queries), grid);
  auto older = co_await asking;
  // The reviews may have changed meanwhile: what was asked for is what the view allowed.
  if (older) co_return joinHistory(*std::move(older), *std::move(own));
  co_return withProblem(*std::move(own), older.error().message);
}

Task<void> Console::answer(net::RoutedRequest request, Responding responder, Viewing viewer) {
  auto asking = net::whileConnected(executor_, *responder, answerOf(request, std::move(viewer)));
  auto answer = co_await asking;
  if (answer) {
    net::sendJson(*responder, 200, *answer);
  } else {
    refuse(*responder, statusOf(answer.error().code), answer.error().message);
  }
}

Task<Result<json::value>> Console::answerOf(const net::RoutedRequest& request, Viewing viewer) {
  const auto& target = request.target;
  const std::string name(target.param("name"));
  if (target.path == "/api/v1/node") {
    auto asking = nodeDetail(api_, name, options_.koordlet, std::move(viewer));
    auto detail = co_await asking;
    co_return detail;
  }
  if (target.path == "/api/v1/history") {
    auto reading = historyOf(target, std::move(viewer));
    auto history = co_await reading;
    co_return history;
  }
  if (target.path == "/api/v1/explain") {
    if (viewer->caller() || !options_.explain)
      co_return fail(ErrorCode::NotFound,
                     viewer->caller()
                         ? "this console does not explain: koordctl explain does, with your rights"
                         : "this console does not reach koord-scheduler");
    auto asking = options_.explain(std::string(target.param("kind")), name);
    auto text = co_await asking;
    if (!text) co_return fail(std::move(text.error()));
    co_return json::value(json::object{{"text", *std::move(text)}});
  }
  auto asking = simulation(request, std::move(viewer));
  auto answer = co_await asking;
  co_return answer;
}

Task<Result<json::value>> Console::simulation(const net::RoutedRequest& request, Viewing viewer) {
  const std::string& question = request.request.body;
  if (question.size() > kMostQuestionBytes)
    co_return fail(ErrorCode::RequestEntityTooLarge, "a question has at most 1 MiB");
  if (viewer->caller() ? !options_.simulateAs : !options_.simulate)
    co_return fail(ErrorCode::NotFound, "this console does not simulate");
  const auto place = simulations_.take(*viewer);
  if (!place)
    co_return fail(ErrorCode::TooManyRequests, "too many simulations run: ask again when one ends");
  auto asking = viewer->caller() ? options_.simulateAs(question, viewer->caller())
                                 : options_.simulate(question);
  auto answer = co_await asking;
  co_return answer;
}

Task<void> Console::sampleForever() {
  // The first sample soon, so that charts begin. Not before all tables have arrived.
  auto first = sleepFor(executor_, kFirstSample);
  co_await first;
  const Tables tables{&rowsOf(TableId::Pods), &rowsOf(TableId::Nodes), &rowsOf(TableId::Metrics),
                      &rowsOf(TableId::Quotas)};
  while (true) {
    const bool current = std::ranges::all_of(
        tables_, [](const auto& one) { return one->settled() && !one->stale(); });
    if (silence().empty() && current) history_.add(executor_.wallNow(), sampleOf(tables));
    auto pause = sleepFor(executor_, History::kPeriod);
    co_await pause;
  }
}

Task<void> Console::watchServer() {
  while (true) {
    auto request = kube::listRequest(api::Node::kType, "", "", "");
    request.query["limit"] = "1";
    auto calling = api_.call(std::move(request));
    auto reply = co_await calling;
    const bool answered = reply || reply.error().code == ErrorCode::Forbidden ||
                          reply.error().code == ErrorCode::TooManyRequests;
    const bool changed = answered != failure_.empty();
    if (answered) answeredAt_ = executor_.steadyNow();
    failure_ = answered ? std::string() : reply.error().message;
    if (changed) feed_->sendStatus();
    auto pause = sleepFor(executor_, kAskServer);
    co_await pause;
  }
}

}  // namespace koord::console
