#include "console/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/random.h"
#include "console/history/sampler.h"
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
constexpr std::size_t kPoints = 480;  // of a chart

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
}

Console::Console(kube::Api& api, Executor& executor, ConsoleOptions options)
    : api_(api), executor_(executor), options_(std::move(options)), token_(newToken()) {
  feed_ = std::make_unique<Feed>(
      executor, tables_, [this] { return status(); }, newToken().substr(0, 8));
  // Nodes before pods: the page can show them while pods arrive.
  addTable<api::Node>("nodes");
  addTable<api::NodeMetric>("metrics");
  addTable<api::ElasticQuota>("quotas");
  addTable<api::PodGroup>("gangs");
  addTable<api::PodMigrationJob>("moves");
  addTable<api::Reservation>("reservations");
  addTable<api::Pod>("pods");
  addRoutes();
}

Console::~Console() = default;

void Console::addRoutes() {
  router_.add("GET", "/",
              [](net::RoutedRequest request, std::shared_ptr<net::Responder> responder) {
                servePage(request, *responder);
              });
  router_.add("GET", "/api/v1/feed",
              [this](net::RoutedRequest request, std::shared_ptr<net::Responder> responder) {
                feed_->open(std::move(responder), request.target.param("since"));
              });
  router_.add("GET", "/api/v1/history",
              [this](net::RoutedRequest request, std::shared_ptr<net::Responder> responder) {
                sendHistory(request, *responder);
              });
  for (const auto& [method, path] :
       {std::pair("GET", "/api/v1/node"), {"GET", "/api/v1/explain"}, {"POST", "/api/v1/simulate"}})
    router_.add(method, path,
                [this](net::RoutedRequest request, std::shared_ptr<net::Responder> responder) {
                  const std::string what = request.target.path;
                  auto handling = answer(std::move(request), responder);
                  tasks_.spawn(net::runHandler(what, responder, std::move(handling)));
                });
  router_.add("", "/api/", [](net::RoutedRequest, std::shared_ptr<net::Responder> responder) {
    refuse(*responder, 404, "this path does not exist");
  });
}

void Console::start() {
  answeredAt_ = executor_.steadyNow();
  for (const auto& table : tables_) table->start(options_.ownNamespace);
  tasks_.spawn(sampleForever());
  tasks_.spawn(watchServer());
}

Result<> Console::listen(const std::string& address) {
  auto server = net::HttpServer::start(
      executor_, {.listen = address, .maxConnections = 256, .maxBodyBytes = 1 << 20},
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
  router_.handle(std::move(request), std::move(responder));
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
  // The path as the router sees it: a target may be escaped, or have a scheme and a host.
  const auto target = net::parseTarget(request.target);
  if (target && !target->path.starts_with("/api")) return true;
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view given = net::headerOf(request.headers, "Authorization");
  if (given.starts_with(kBearer) && equalTokens(given.substr(kBearer.size()), token_)) return true;
  refuse(responder, 401, "the token is not valid: open the address that koordctl has printed");
  return false;
}

const ChangeLog& Console::rowsOf(std::string_view table) const {
  return (*std::ranges::find(tables_, table,
                             [](const auto& one) -> std::string_view { return one->name(); }))
      ->rows();
}

json::value Console::status() const {
  const Duration silent = executor_.steadyNow() - answeredAt_;
  json::object access;
  for (const auto& table : tables_) access[table->name()] = accessJson(table->access());
  json::object out{
      {"now", std::chrono::duration<double>(executor_.wallNow().time_since_epoch()).count()},
      {"cluster", options_.cluster},
      {"version", options_.version},
      {"explains", options_.explain != nullptr},
      {"simulates", options_.simulate != nullptr},
      {"access", std::move(access)}};
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

void Console::sendHistory(const net::RoutedRequest& request, net::Responder& responder) const {
  std::int64_t seconds = 3600;
  const auto given = request.target.param("seconds");
  std::from_chars(given.data(), given.data() + given.size(), seconds);
  const auto answer = history_.query(request.target.param("series"), seconds, kPoints);
  if (!answer) return refuse(responder, 404, answer.error().message);
  net::sendJson(responder, 200, *answer);
}

Task<void> Console::answer(net::RoutedRequest request, std::shared_ptr<net::Responder> responder) {
  auto asking = net::whileConnected(executor_, *responder, answerOf(request));
  auto answer = co_await asking;
  if (answer) {
    net::sendJson(*responder, 200, *answer);
  } else {
    refuse(*responder, statusOf(answer.error().code), answer.error().message);
  }
}

Task<Result<json::value>> Console::answerOf(const net::RoutedRequest& request) {
  const auto& target = request.target;
  const std::string name(target.param("name"));
  if (target.path == "/api/v1/node") {
    auto asking = nodeDetail(api_, name, options_.koordlet);
    auto detail = co_await asking;
    co_return detail;
  }
  if (target.path == "/api/v1/explain") {
    if (!options_.explain)
      co_return fail(ErrorCode::NotFound, "this console does not reach koord-scheduler");
    auto asking = options_.explain(std::string(target.param("kind")), name);
    auto text = co_await asking;
    if (!text) co_return fail(std::move(text.error()));
    co_return json::value(json::object{{"text", *std::move(text)}});
  }
  if (!options_.simulate) co_return fail(ErrorCode::NotFound, "this console does not simulate");
  auto asking = options_.simulate(request.request.body);
  auto answer = co_await asking;
  co_return answer;
}

Task<void> Console::sampleForever() {
  // The first sample soon, so that charts begin. Not before all tables have arrived.
  auto first = sleepFor(executor_, kFirstSample);
  co_await first;
  const Tables tables{&rowsOf("pods"), &rowsOf("nodes"), &rowsOf("metrics"), &rowsOf("quotas")};
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
