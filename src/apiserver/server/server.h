#pragma once

// The embedded API server: an actor that answers API calls from its store. Transports in front of
// it: http_front.h for kubectl and other programs, local_api.h for components in the same process.
//
// Everything runs on one executor. A reply is sent only when all that it may depend on is on disk,
// so an acknowledged write survives any crash.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "apiserver/admission/admission.h"
#include "apiserver/authn/authenticator.h"
#include "apiserver/authz/aggregation.h"
#include "apiserver/authz/authorizer.h"
#include "apiserver/quota/quotas.h"
#include "apiserver/registry/registry.h"
#include "apiserver/server/call.h"
#include "apiserver/server/crd_cleanup.h"
#include "apiserver/server/policy_checks.h"
#include "apiserver/server/service_addresses.h"
#include "apiserver/server/system_objects.h"
#include "apiserver/server/target.h"
#include "apiserver/store/store.h"
#include "base/random.h"
#include "base/task.h"

namespace koord::apiserver {

// ServiceAccounts: one in every namespace, tokens, and the admission of pods that use them.
struct ServiceAccountOptions {
  std::vector<net::SigningKey> keys;  // the first signs, all verify; if empty, one is generated
  std::string issuer = kServiceAccountIssuer;
  std::string rootCaPem;  // verifies this server; "" = no kube-root-ca.crt
};

struct ServerOptions {
  std::string database;  // the SQLite file; "" keeps everything in memory only
  // Opens another storage than that file, for tests; null = the file, if there is one.
  std::function<Result<std::unique_ptr<Storage>>()> openStorage;
  bool inlineCommits = false;        // write on the executor itself: for virtual time
  std::size_t historyEvents = 8192;  // per resource, for watches
  std::uint64_t seed = 1;            // for uids and generated names
  // Called when the database cannot be written (the error) and when it can be written again (null).
  // Meanwhile writes are answered 507; all other requests work. On the executor.
  std::function<void(const Error* failure)> onStorage;
  WebhookCaller webhookCaller;  // null: calls of webhooks fail, as their policy says
  // Node and RBAC authorization, with the bootstrap roles. Transports check it before they pass a
  // request to the server (authorizer()). Without it every authenticated user may do everything.
  bool rbac = false;
  std::optional<ServiceAccountOptions> serviceAccounts;
  // Endpoints of services may be loopback addresses: pods of one machine have the host's network.
  bool loopbackEndpoints = false;
};

// Receives the events of a watch, as lines of JSON with a newline at the end. On the server's
// executor.
struct LineSink {
  std::function<void(const Bytes& line)> onLine;
  // Returns how many bytes of earlier lines are not sent yet; null: always 0.
  std::function<std::size_t()> behind;
  // Called when the watch has ended, normally if the error is empty. The last call.
  std::function<void(Error error)> onEnd;
};

class WatchFrames;

class WatchStream {
 public:
  virtual ~WatchStream() = default;
};

class Server {
 public:
  // Reads the database, if there is one. Errors name the file and what is wrong with it.
  static Result<std::unique_ptr<Server>> open(Executor& executor, ServerOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Answers every call except watches.
  Task<Reply> serve(Call call);
  // Starts a watch. Destroying the stream ends it; the sink may do so. Events may arrive before
  // this call returns, so the sink must not rely on having the stream.
  Outcome<std::unique_ptr<WatchStream>> watch(Call call, LineSink sink);

  // Admission of a stream to a pod, whose user has the permissions: the options as webhooks have
  // left them (pod_stream.h). NotFound: there is no such pod.
  Task<Outcome<json::value>> admitConnect(Call call, json::value options);

  Executor& executor() { return executor_; }
  Registry& registry() { return registry_; }
  const Registry& registry() const { return registry_; }
  Store& store() { return store_; }
  Authorizer* authorizer() { return authorizer_.get(); }  // null: everything is allowed
  Authenticator& authenticator() { return authenticator_; }
  // Sets the address of this server: an IP address and port for the Service "kubernetes".
  void publish(const std::string& address, int port) { systemObjects_->publish(address, port); }

  const Bytes& eventLine(const Event& event, bool added);
  const std::shared_ptr<WatchFrames>& watchFrames() const { return watchFrames_; }

  struct Counters {
    std::uint64_t requests = 0, failures = 0, watches = 0, slowWatchersCut = 0;
  };
  const Counters& counters() const { return counters_; }

 private:
  friend class WriteCall;
  Server(Executor& executor, ServerOptions options);
  Result<> load(Storage& storage);
  Result<> openAccess();
  void onReverted(const Table& table, const Event& event);
  void storageChanged(const Error* failure);

  Task<Reply> answer(const Call& call);
  Outcome<std::unique_ptr<WatchStream>> startWatch(Call call, LineSink sink);
  Reply read(const Call& call);
  Task<Reply> write(const Call& call);
  Task<bool> settled();
  Outcome<Reply> get(const Call& call, const Target& target);
  Outcome<Reply> list(const Call& call, const Target& target);

  Executor& executor_;
  ServerOptions options_;
  Random random_;
  Registry registry_;
  Store store_;
  Admission admission_;
  Quotas quotas_;
  std::unique_ptr<Authorizer> authorizer_;
  std::unique_ptr<RoleAggregation> aggregation_;
  Authenticator authenticator_;
  std::unique_ptr<SystemObjects> systemObjects_;
  ServiceAddresses addresses_;
  Counters counters_;
  struct EventLine {
    std::uint64_t version = 0;
    Bytes line;
  };
  EventLine addedLine_, modifiedLine_;
  std::shared_ptr<WatchFrames> watchFrames_;
  // Destroyed first: they call the server.
  std::unique_ptr<CrdCleanup> crdCleanup_;
  std::unique_ptr<PolicyChecks> policyChecks_;
};

}  // namespace koord::apiserver
