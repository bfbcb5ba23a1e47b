#pragma once

// Leader election on a Lease, with the flags, defaults and rules of client-go: a candidate takes the
// lease when it is free or has not been renewed for leaseDuration *by its own clock since it last saw it
// change*, renews it every retryPeriod, and stops leading when it could not renew for renewDeadline.

#include <functional>
#include <memory>
#include <string>

#include "base/random.h"
#include "kube/api.h"

namespace koord::kube {

struct LeaderElectionOptions {
  std::string leaseNamespace = "koordinator-system";
  std::string leaseName;
  std::string identity;  // unique per process: <hostname>_<uuid>
  Duration leaseDuration = std::chrono::seconds(15);
  Duration renewDeadline = std::chrono::seconds(10);
  Duration retryPeriod = std::chrono::seconds(2);
  bool releaseOnStop = true;
};

class LeaderElector {
 public:
  // onStarted when this process begins to lead; onStopped when it no longer may (it must stop at once).
  LeaderElector(Api& api, Executor& executor, LeaderElectionOptions options, Random random,
                std::function<void()> onStarted, std::function<void()> onStopped);
  ~LeaderElector();

  void start();
  bool leading() const;
  // Gives the lease back so that another can take it at once; `done` runs afterwards.
  void release(std::function<void()> done);

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

// <hostname>_<random uuid>
std::string makeIdentity(Random& random);

}  // namespace koord::kube
