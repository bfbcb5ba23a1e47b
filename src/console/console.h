#pragma once

// The console: a page for browsers that shows the cluster, and the server of its data. Read-only.
//
//   GET  /                  the page, without authentication: it has no data
//   GET  /api/v1/feed       all tables, then their changes (feed/feed.h); ?since=ID continues;
//                           &namespaces=A,B: where rights are asked about first
//   GET  /api/v1/history    ?series=cluster&seconds=3600
//   GET  /api/v1/node       ?name=NODE: labels, CPUs, devices, NUMA zones, thresholds, use by pod
//   GET  /api/v1/explain    ?kind=pod&name=NS/NAME: the words of koord-scheduler or koord-manager
//   POST /api/v1/simulate   what would happen: request and answer are those of the owner
//
// A console is one of two:
//
//   of one user     (koordctl) Requests below /api need the header "Authorization: Bearer TOKEN"
//                   with the token of url(). It is new at each start and lies in the URL's
//                   fragment, which browsers do not send. The header Host must be the address or
//                   loopback, so that a foreign page cannot reach the console by another name. It
//                   shows what the Api may list.
//   of many users   (koord-manager, ConsoleOptions::shared) Each request has the identity that
//                   kube/request_guard.h gives it, and receives what this user may list
//                   (rights/view.h). Without an identity only the page itself is served.
//
// It never reads secrets. One executor, which must be thread-safe (EventLoop).

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/json.h"
#include "base/task.h"
#include "console/feed/feed.h"
#include "console/history/history.h"
#include "console/prometheus/prometheus.h"
#include "console/rights/places.h"
#include "console/rights/viewers.h"
#include "net/http_server.h"
#include "net/router.h"

namespace koord::console {

struct ConsoleOptions {
  std::string cluster;  // the address of the API server, to show
  std::string version;
  std::string ownNamespace;  // where to list if the whole cluster is forbidden; "" = nowhere
  // The text of `koordctl explain` about an object: pod, node, quota, gang or reservation. Null =
  // the page says how to ask.
  std::function<Task<Result<std::string>>(std::string kind, std::string name)> explain;
  // What would happen (koordctl/console/console_simulate.h). Null = the page says how to ask.
  std::function<Task<Result<json::value>>(std::string request)> simulate;
  // Older history than that in memory. Null = there is none.
  std::shared_ptr<Prometheus> prometheus;
  // True: a console of many users, which handleAs() serves.
  bool shared = false;
  // The same as simulate, in the name of the caller, for a console of many users.
  std::function<Task<Result<json::value>>(std::string request,
                                          std::shared_ptr<const kube::Caller> caller)>
      simulateAs;
  // What koordlet of this node does to BE pods now; empty for nodes that are not reached. May be
  // null.
  std::function<Task<std::vector<std::string>>(std::string node)> koordlet;
  // Notes about the cluster that the page shows, such as a pause. May be null.
  std::function<std::vector<std::string>()> notes;
};

class Console {
 public:
  // What users of a console of many may ask at once; others are refused with 429, or have no older
  // history.
  static constexpr std::size_t kMostSimulations = 8;
  static constexpr std::size_t kSimulationsOfAUser = 2;
  static constexpr std::size_t kMostOlder = 16;
  static constexpr std::size_t kOlderOfAUser = 4;
  static constexpr std::size_t kMostQuestionBytes = 1 << 20;  // of a simulation

  // Api and executor must outlive it.
  Console(kube::Api& api, Executor& executor, ConsoleOptions options);
  ~Console();

  // Begins to follow the cluster and to keep its history.
  void start();
  // Serves on "127.0.0.1:0" or another address.
  Result<> listen(const std::string& address);
  // "http://127.0.0.1:41873/#token=...": for the user alone. "" before listen().
  std::string url() const;
  const std::string& token() const { return token_; }
  Task<void> shutdown(Duration grace);

  // A request of the one user, with the token.
  void handle(net::ServerRequest request, std::shared_ptr<net::Responder> responder);
  // A request of one of many users, with the caller that a guard has admitted.
  void handleAs(net::ServerRequest request, std::shared_ptr<net::Responder> responder,
                std::shared_ptr<const kube::Caller> caller);

 private:
  using Responding = std::shared_ptr<net::Responder>;
  using Viewing = std::shared_ptr<const Viewer>;

  template <class T>
  void addTable(const char* name);
  void serve(net::ServerRequest request, Responding responder, Viewing viewer);
  static void servePageOnly(net::ServerRequest request, Responding responder);
  Task<void> admit(net::ServerRequest request, Responding responder,
                   std::shared_ptr<const kube::Caller> caller, std::vector<std::string> first);
  json::value status(const Viewer& viewer) const;
  json::value accessOf(std::size_t table, const Viewer& viewer) const;
  std::set<std::string, std::less<>> namespaces();
  // Why what is shown may be old: the API server does not answer. "" = it does.
  std::string silence() const;
  bool authenticate(const net::ServerRequest& request, net::Responder& responder) const;
  bool isOwnHost(std::string_view host) const;
  const ChangeLog& rowsOf(TableId table) const;
  Task<void> answer(net::RoutedRequest request, Responding responder, Viewing viewer);
  Task<Result<json::value>> answerOf(const net::RoutedRequest& request, Viewing viewer);
  Task<Result<json::value>> simulation(const net::RoutedRequest& request, Viewing viewer);
  Task<Result<json::value>> historyOf(const net::Target& target, Viewing viewer);
  // What Prometheus has of the series and the user may read; empty for series without objects.
  std::vector<ColumnQuery> olderQueries(std::string_view series, const View& view) const;
  Task<void> sampleForever();
  Task<void> watchServer();

  kube::Api& api_;
  Executor& executor_;
  const ConsoleOptions options_;
  const std::string token_;
  Feed::Tables tables_;
  History history_;
  SteadyTime answeredAt_{};  // when the API server last answered
  std::string failure_;      // of the last question to it; "" = it answered
  std::string address_;
  std::vector<const api::ResourceType*> kinds_;  // by TableId
  // Those of the rows, as of these changes of each table.
  std::set<std::string, std::less<>> namespaces_;
  std::vector<ChangeLog::Number> namespacesOf_;
  std::unique_ptr<Feed> feed_;
  std::unique_ptr<Viewers> viewers_;  // null for a console of one user
  std::unique_ptr<net::HttpServer> server_;
  Places simulations_{kMostSimulations, kSimulationsOfAUser};
  Places older_{kMostOlder, kOlderOfAUser};  // questions to Prometheus
  TaskGroup tasks_;
};

}  // namespace koord::console
