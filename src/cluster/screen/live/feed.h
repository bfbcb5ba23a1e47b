#pragma once

// Brings the state of the cluster to the screen once a second: the objects of informers, the
// actions of this host's koordlet, and answers about what the user has opened. Events and quotas
// are watched from the moment they are looked at. One executor.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/config.h"
#include "base/task.h"
#include "cluster/screen/live/explain.h"
#include "cluster/screen/live/viewer.h"
#include "kube/informer.h"
#include "net/http_client.h"

namespace koord::cluster {

struct FeedOptions {
  // Informers of the owner, which starts them.
  const kube::Informer<api::Node>* nodes = nullptr;
  const kube::Informer<api::Pod>* pods = nullptr;
  const kube::Informer<api::NodeMetric>* metrics = nullptr;
  const kube::Informer<api::PodMigrationJob>* migrations = nullptr;
  const kube::Informer<api::ConfigMap>* sloConfig = nullptr;
  kube::Api* api = nullptr;  // for events and quotas
  net::HttpTransport* http = nullptr;
  std::string koordlet;  // its address; "" if it is not on this host
  Explain explain = nullptr;
  Question question;  // executor and subject are filled in
  // Adds what does not follow from the objects.
  std::function<void(ClusterStatus& status)> complete;
  std::function<void()> onQuit;
  std::string quitQuestion;  // "" = q quits at once
};

class Feed {
 public:
  Feed(Executor& executor, FeedOptions options);
  ~Feed();

  // Shows the screen, or prints a line every few seconds if there is no terminal for one.
  void start();
  bool hasScreen() const { return viewer_ != nullptr; }

 private:
  Task<void> showForever();
  Task<void> explainForever(int round);
  Task<void> queryKoordlet();
  void shown(PaneKind pane, std::optional<Subject> opened);
  void publish();
  Snapshot snapshot() const;
  void print(const Snapshot& snapshot);

  Executor& executor_;
  const FeedOptions options_;
  std::unique_ptr<kube::Informer<api::Event>> events_;
  std::unique_ptr<kube::Informer<api::ElasticQuota>> quotas_;
  json::value qos_;
  SteadyTime qosAt_{};
  std::optional<Subject> opened_;
  int round_ = 0;  // of what is opened
  std::string lastLine_;
  SteadyTime lastShown_{};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // events of the viewer come later
  std::unique_ptr<Viewer> viewer_;
  TaskGroup tasks_;
};

}  // namespace koord::cluster
