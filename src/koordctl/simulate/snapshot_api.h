#pragma once

// SnapshotApi: the objects of a snapshot as informers read them: a server whose state never
// changes. A watch receives the whole state of its resource. Calls fail.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/api.h"

namespace koord::koordctl {

class SnapshotApi final : public kube::Api {
 public:
  explicit SnapshotApi(Executor& executor) : executor_(executor) {}

  // resource: "pods", "deployments.apps". object: JSON. Before the first watch. Pods that have
  // ended are left out, as schedulers ask.
  void add(std::string_view resource, std::string_view object);
  // Called for pods that have ended. May be empty.
  std::function<void(std::string_view object)> onEnded;
  // Frees the texts, when the informers have read them.
  void clear() { objects_.clear(); }

  Task<Result<std::string>> call(kube::Request request) override;
  std::unique_ptr<kube::Watch> watch(kube::Request request, kube::WatchSink sink) override;

 private:
  class Follower;
  void send(const std::string& resource, const kube::WatchSink& sink,
            const std::weak_ptr<bool>& watched) const;

  Executor& executor_;
  std::map<std::string, std::vector<std::string>, std::less<>> objects_;  // by resource
};

}  // namespace koord::koordctl
