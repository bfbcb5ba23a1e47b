#pragma once

// Leader election on a Lease, with the flags, defaults and rules of client-go. A candidate acquires
// the lease if it is free, or if it has not changed for leaseDuration *by the candidate's own
// clock*. The leader renews it every retryPeriod, and stops leading if it could not renew it for
// renewDeadline. An attempt to renew takes at most half of that. Two processes never lead at once
// if the rates of their clocks differ by less than leaseDuration / renewDeadline; the clocks' times
// do not matter.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/random.h"
#include "kube/api.h"
#include "kube/metrics.h"

namespace koord::kube {

struct LeaderElectionOptions {
  std::string leaseNamespace = "koordinator-system";
  std::string leaseName;
  std::string identity;  // unique per process: <hostname>_<uuid>
  Duration leaseDuration = std::chrono::seconds(15);
  Duration renewDeadline = std::chrono::seconds(10);
  Duration retryPeriod = std::chrono::seconds(2);
  bool releaseOnStop = true;
  // The annotations of the lease while this process holds it, for clients of the leader. Called at
  // every write.
  std::function<std::map<std::string, std::string>()> annotations = {};
  std::shared_ptr<Metrics> metrics;  // nullptr: no metrics
};

class LeaderElector {
 public:
  // onStarted is called when this process begins to lead, onStopped when it lost the lease: it must
  // stop at once.
  LeaderElector(Api& api, Executor& executor, LeaderElectionOptions options, Random random,
                std::function<void()> onStarted, std::function<void()> onStopped);
  ~LeaderElector();

  void start();
  bool leading() const;
  // Releases the lease, so that another process can acquire it at once. `done` runs afterwards.
  void release(std::function<void()> done);

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

// client-go's rules; the error names the flag.
Result<> validate(const LeaderElectionOptions& options);

// <hostname>_<random uuid>
std::string makeIdentity(Random& random);

}  // namespace koord::kube
