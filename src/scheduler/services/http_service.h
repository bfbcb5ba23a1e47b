#pragma once

// The scheduler's HTTP endpoints: those that every program has (net/serving.h, net/profiling.h),
// the debug flags, and the service engine under /apis/v1/.
//
// The plain port is asked by nobody knows whom. It serves what upstream serves there, by GET alone, and
// spends no more than a tenth of the time on answers that grow with the cluster; metrics, those of pods
// included, that take long are told again for a while, so that nobody who asks for them keeps others from
// them. What works something
// out or changes anything (explain, diagnosis, what-if, includePods, debug flags) is for those who come
// over TLS, whom a guard has let in (kube/request_guard.h).
//
// Beyond upstream: /livez and /readyz; GET of a debug flag; explain: GET /apis/v1/explain/pods/NS/NAME, or
// POST a pod to /apis/v1/explain/pods to ask about one that does not exist; and /apis/v1/diagnosis/NS/POD
// and /apis/v1/scheduleexplanations/NS/POD for programs (diagnose.h).

#include <functional>
#include <set>

#include "net/metrics_page.h"
#include "net/router.h"
#include "scheduler/services/metrics.h"

namespace koord::scheduler {

// What the process knows beyond its Scheduler.
struct ServiceState {
  std::function<bool()> leading;           // the service engine answers on the leader only
  std::function<std::string()> unhealthy;  // "" or what is wrong with the lease
  std::function<bool()> synced;
  std::function<bool()> stopping;
  std::function<std::string()> clientMetrics;  // those of kube::Metrics
  std::function<std::string()> auditMetrics = [] { return std::string(); };
  std::function<void()> resetAudit = [] {};
  net::MetricsPage page;                                   // what goes with all metrics
  std::vector<std::pair<std::string, std::string>> flags;  // for /flagz
  bool openDebugFlags = false;  // can be set without TLS, by whoever reaches the port
};

class HttpService {
 public:
  // All must outlive it, and it the servers that it answers for.
  HttpService(Scheduler& scheduler, Metrics& metrics, Executor& executor, ServiceState state);
  HttpService(const HttpService&) = delete;
  HttpService& operator=(const HttpService&) = delete;

  net::HttpServer::Handler handler() const;

 private:
  using Answer = std::function<Result<json::value>(const net::RoutedRequest&)>;

  // A text that takes long, as it is or as it was shortly before: ten times as long as it took to make.
  class Page {
   public:
    using Bytes = net::Responder::Bytes;
    Bytes of(Executor& executor, const std::function<std::string()>& make);
    void forget() { holdUntil_ = {}; }

   private:
    Bytes text_;
    SteadyTime holdUntil_{};
  };
  void addDebugFlags();
  // Why the plain port does not answer this; "" when it does.
  std::string closedFor(const std::string& method, const net::Target& target) const;
  // A path of the service engine that the plain port has.
  bool isOpen(std::string_view path) const;
  void answerPlain(const net::HttpServer::Handler& route, net::ServerRequest request,
                   std::shared_ptr<net::Responder> to) const;
  enum class For { Anybody, Guarded };
  // Of the service engine: only the leader answers.
  void addAnswer(const char* method, const std::string& path, For whom, Answer answer);
  // The paths of all services, as __services__ shows them.
  std::set<std::string> addPluginRoutes();
  void addServices();

  Scheduler& scheduler_;
  Metrics& metrics_;
  Executor& executor_;
  ServiceState state_;
  net::Router router_;
  std::set<std::string, std::less<>> open_;  // what the plain port has of /apis/v1/
  mutable SteadyTime restUntil_{};           // of the plain port
  Page metricsPage_;
  Page podResourcesPage_;
};

}  // namespace koord::scheduler
