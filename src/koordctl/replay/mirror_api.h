#pragma once

// MirrorApi: the API server as a second scheduler beside a replay sees it. It has the objects of
// the recorded answers and events, and passes on what the first scheduler is given. It answers no
// writes.
//
// TeeApi: stands between the first scheduler and its API, and tells a MirrorApi what passes.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kube/api.h"

namespace koord::koordctl {

class MirrorApi final : public kube::Api {
 public:
  explicit MirrorApi(Executor& executor) : executor_(executor) {}
  ~MirrorApi() override;

  // What the first scheduler is given for its requests.
  void opened(const kube::Request& watch);
  void event(const kube::Request& watch, std::string_view event);
  void listed(const kube::Request& list, std::string_view body);
  // Resources that only the second scheduler reads: the recording does not have them.
  std::vector<std::string> missing() const;

  Task<Result<std::string>> call(kube::Request request) override;
  std::unique_ptr<kube::Watch> watch(kube::Request request, kube::WatchSink sink) override;

 private:
  struct Follower;
  class Handle;
  struct Topic {
    bool seen = false;                              // the first scheduler reads it
    bool complete = false;                          // the whole state has come
    std::map<api::ObjectKey, std::string> objects;  // their last events
    std::set<api::ObjectKey> unseen;                // since a list began again
    // Of servers without streaming lists.
    std::string list;
    std::vector<std::string> sinceList;  // events, while no follower is there
    std::set<Follower*> followers;
  };

  static std::string topicOf(const kube::Request& request);
  static void send(Topic& topic, std::string_view event);
  void begin(Follower& follower);
  static Task<Result<std::string>> never(Executor& executor);

  Executor& executor_;
  std::map<std::string, Topic> topics_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

class TeeApi final : public kube::Api {
 public:
  // asked: called with each write, before it is made.
  TeeApi(kube::Api& inner, MirrorApi& mirror, std::function<void(const kube::Request&)> asked)
      : inner_(inner), mirror_(mirror), asked_(std::move(asked)) {}

  Task<Result<std::string>> call(kube::Request request) override;
  std::unique_ptr<kube::Watch> watch(kube::Request request, kube::WatchSink sink) override;
  bool takesProtobuf() const override { return inner_.takesProtobuf(); }

 private:
  kube::Api& inner_;
  MirrorApi& mirror_;
  const std::function<void(const kube::Request&)> asked_;
};

}  // namespace koord::koordctl
