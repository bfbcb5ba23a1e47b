#pragma once

// The cluster that up.h runs, as an actor: starts everything in order, supervises it, and stops it.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/http_front.h"
#include "apiserver/local_api.h"
#include "base/event_loop.h"
#include "base/random.h"
#include "cluster/controllers/controllers.h"
#include "cluster/screen/live/screen.h"
#include "cluster/simnode/sim_nodes.h"
#include "cluster/up/components.h"
#include "cluster/up/console_service.h"
#include "cluster/up/control.h"
#include "cluster/up/credentials.h"
#include "cluster/up/data_dir.h"
#include "cluster/up/host.h"
#include "cluster/up/merged_kubeconfig.h"
#include "cluster/up/options.h"
#include "cluster/up/pausable_executor.h"
#include "cluster/up/supervisor.h"
#include "net/http_client.h"

namespace koord::cluster {

class ClusterUp {
 public:
  // Checks everything that can fail: files that cannot be opened, a port in use, a missing program.
  static Result<std::unique_ptr<ClusterUp>> open(Executor& executor, net::HttpClient& http,
                                                 const UpOptions& options, const DataDir& data,
                                                 const std::string& program, Screen& screen);
  ~ClusterUp();

  // onFailed: called if the start failed; the reason was already reported. onStop: called when a
  // client of the control socket wants the cluster to stop.
  void start(std::function<void()> onFailed, std::function<void()> onStop);
  // Stops components and pods, removes cgroups, ends the API server's connections.
  Task<void> shutdown();
  // Destroys everything except the API server and its store, which outlive references to them.
  // Afterwards nothing of this cluster runs. Must not be called from one of its own tasks.
  void releaseActors();

 private:
  ClusterUp(Executor& executor, net::HttpClient& http, const UpOptions& options,
            const DataDir& data, Screen& screen);
  Result<> openServer();
  Result<> openFront();
  void publish(const std::string& address);
  Result<> openCredentials();
  Result<> openHost(const std::string& program);
  void openServices();
  Result<> openConsolePage();
  int simulatedNodes() const;
  Result<> openComponents(const std::string& program);
  Result<> writeKubeconfigs();
  void removeKubeconfigs();

  void openControl(std::function<void()> onStop);
  json::value controlStatus() const;
  Task<Result<>> pause();
  Task<Result<>> resume();
  // Lets the actors and the pods of the host node continue; the components do not run yet.
  void continueActors();
  Task<Result<std::string>> copyObjects();
  std::string listenAddress() const;

  void announce();
  Task<void> bringUp(std::function<void()> onFailed, std::function<void()> onStop);
  Task<void> startServices();
  Task<Result<>> applyBase();
  Task<Result<>> applyWebhooks();
  Task<void> forgetLease(api::ObjectKey lease);
  Task<void> untilReady();
  Task<bool> isReady(std::string url);
  void showHints();
  void showScreen(std::function<void()> onStop);
  void describe(ClusterStatus& status) const;
  bool hasComponent(const std::string& name) const;
  std::string koordletUrl() const;
  std::string leaseHolder(const Component& component) const;

  Executor& executor_;
  PausableExecutor pausable_;  // of the actors
  net::HttpClient& http_;
  const UpOptions& options_;
  const DataDir& data_;
  Screen& screen_;
  Random random_;
  SimNodeShape nodeShape_;
  SteadyTime startedAt_;
  std::string kubeconfig_;
  std::vector<std::pair<std::string, std::string>> kubeconfigs_;  // path and text
  std::string serverUrl_;
  std::vector<std::string> notes_;
  std::optional<Credentials> credentials_;
  std::shared_ptr<const net::ServerTls> tls_;
  std::string hint_;
  bool ready_ = false;
  enum class Life { Running, Pausing, Paused, Resuming } life_ = Life::Running;
  std::optional<MergedKubeconfig> merged_;
  std::unique_ptr<LoopThread> copying_;  // null until the first copy of the objects

  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<apiserver::HttpFront> front_;
  std::unique_ptr<apiserver::LocalApi> api_;
  std::unique_ptr<apiserver::LocalApi> accessApi_;  // for what a pause does not stop
  std::unique_ptr<console::Console> console_;       // null with --console=off
  std::vector<Component> components_;
  struct Actors;  // the users of the API
  std::unique_ptr<Actors> actors_;
  std::unique_ptr<ControlServer> control_;  // its actions use all of the above
};

}  // namespace koord::cluster
