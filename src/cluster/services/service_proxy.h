#pragma once

// Services of the host node: their addresses lead to pods (proxy/), their names resolve (dns/), and
// those of type LoadBalancer get a loopback address. What is needed of the kernel ends with the
// process, also by kill -9; the next start sets it up again.
//
// An actor on the executor of its Api.

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "api/admission.h"
#include "api/core.h"
#include "base/event_loop.h"
#include "base/fd.h"
#include "base/random.h"
#include "base/task.h"
#include "cluster/services/dns/names.h"
#include "cluster/services/objects/objects.h"
#include "cluster/services/proxy/nft_table.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "net/dns/server.h"

namespace koord::cluster::services {

struct ServiceProxyOptions {
  std::string node;  // this host
  std::string nodeIp = "127.0.0.1";
};

class ServiceProxy {
 public:
  // Fails if the kernel cannot translate addresses; the error says why. `nodes` must outlive it:
  // endpoints on nodes with a kubelet's port are real, the others are simulated.
  static Result<std::unique_ptr<ServiceProxy>> open(kube::Api& api, Executor& executor,
                                                    kube::Informer<api::Node>& nodes, Random random,
                                                    ServiceProxyOptions options);
  ~ServiceProxy();

  // Creates the Service kube-system/kube-dns, then follows all services. Returns when they are
  // known, so that the first containers have their variables. Call once.
  Task<Result<>> start();

  // The cluster IP of the DNS server; "" until start() has ended.
  const std::string& dnsAddress() const { return dnsAddress_; }
  // "https://ADDRESS:PORT" of a service, for clients in this process.
  Result<std::string> origin(const api::ServiceReference& service) const;
  // The variables of services for a pod, see service_environment.h.
  std::map<std::string, std::string> environment(const std::string& namespace_, bool links) const;

 private:
  // What the DNS server's thread reads.
  struct SharedNames {
    std::atomic<std::shared_ptr<const ServiceNames>> now{std::make_shared<const ServiceNames>()};
    std::atomic<std::shared_ptr<const std::string>> own{std::make_shared<const std::string>()};
  };

  ServiceProxy(kube::Api& api, Executor& executor, kube::Informer<api::Node>& nodes, Random random,
               ServiceProxyOptions options);
  Result<> openKernel();
  Result<> openDns();
  Task<Result<>> publishDns();
  void followNodes();
  std::set<std::string> realNodes() const;
  void changed();
  Task<void> apply();
  Task<void> showBalancers(std::vector<ServicePtr> services);

  kube::Api& api_;
  Executor& executor_;
  ServiceProxyOptions options_;
  kube::EventRecorder events_;
  kube::Informer<api::Node>& nodes_;
  kube::Informer<Service> services_;
  kube::Informer<EndpointSlice> slices_;
  std::shared_ptr<SharedNames> names_ = std::make_shared<SharedNames>();
  std::unique_ptr<net::dns::Server> dns_;
  std::string dnsAddress_;
  Fd device_;
  std::shared_ptr<NftTable> table_;  // used on the thread
  LoopThread thread_{"services"};
  std::string applied_;  // the table's text
  bool due_ = false;
  bool applying_ = false;
  TaskGroup tasks_;
};

}  // namespace koord::cluster::services
