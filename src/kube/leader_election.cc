#include "kube/leader_election.h"



#include "api/core.h"
#include "base/host_name.h"
#include "base/log.h"
#include "base/time.h"
#include "kube/client.h"

namespace koord::kube {

using namespace std::chrono_literals;

class LeaderElector::Loop {
 public:
  Loop(Api& api, Executor& executor, LeaderElectionOptions options, Random random,
       std::function<void()> onStarted, std::function<void()> onStopped)
      : api_(api),
        executor_(executor),
        options_(std::move(options)),
        random_(random),
        onStarted_(std::move(onStarted)),
        onStopped_(std::move(onStopped)) {}

  ~Loop() { executor_.cancel(deadline_); }

  void start() {
    setLeading(false);
    tasks_.spawn(run());
  }
  bool leading() const { return leading_ && executor_.steadyNow() < leadsUntil_; }

  void release(std::function<void()> done) {
    executor_.cancel(std::exchange(deadline_, 0));
    stopped_ = true;
    tasks_.spawn(giveBack(std::move(done)));
  }

 private:
  Task<void> run() {
    while (!stopped_) {
      const SteadyTime began = executor_.steadyNow();
      auto attempt = attemptInTime();
      const bool held = co_await attempt;
      if (stopped_) co_return;
      // A lease that was written too long ago is as good as none.
      if (held && (leading_ || executor_.steadyNow() < began + options_.renewDeadline)) {
        // Counted from before the request: the lease may have been written at any moment since.
        armDeadline(began + options_.renewDeadline);
        if (!leading_) {
          setLeading(true);
          log::info("became leader of {}/{} as {}", options_.leaseNamespace, options_.leaseName,
                    options_.identity);
          onStarted_();
        }
      }
      // Candidates spread out so that they do not all ask at once.
      const Duration jitter =
          leading_ ? 0ns : Duration(random_.below(options_.retryPeriod.count() / 5 + 1));
      auto pause = sleepFor(executor_, options_.retryPeriod + jitter);
      co_await pause;
    }
  }

  // One hung connection must not use up the time in which a second attempt would succeed.
  Task<bool> attemptInTime() {
    auto [ended, completer] = Future<bool>::make(executor_);
    TaskGroup attempt;
    attempt.spawn(attemptOnce(completer));
    attempt.spawn(giveUp(completer));
    const bool held = co_await ended;
    co_return held;
  }
  Task<void> giveUp(Completer<bool> completer) {
    auto pause = sleepFor(executor_, options_.renewDeadline / 2);
    co_await pause;
    log::warn("lease {}/{}: no answer in time", options_.leaseNamespace, options_.leaseName);
    completer.complete(false);
  }
  Task<void> attemptOnce(Completer<bool> completer) {
    auto attempt = tryAcquireOrRenew();
    const bool held = co_await attempt;
    completer.complete(held);
  }

  void setLeading(bool leading) {
    leading_ = leading;
    if (options_.metrics) options_.metrics->setLeading(options_.leaseName, leading);
  }

  void armDeadline(SteadyTime when) {
    executor_.cancel(deadline_);
    leadsUntil_ = when;
    deadline_ = executor_.runAt(when, [this] {
      deadline_ = 0;
      stopped_ = true;
      setLeading(false);
      log::error("lost the lease {}/{}: it could not be renewed in time", options_.leaseNamespace,
                 options_.leaseName);
      onStopped_();
    });
  }

  Task<bool> tryAcquireOrRenew() {
    const api::ObjectKey key{options_.leaseNamespace, options_.leaseName};
    auto reading = get<api::Lease>(api_, key);
    auto current = co_await reading;
    const MicroNow now{executor_.wallNow()};
    if (!current) {
      if (current.error().code != ErrorCode::NotFound) {
        log::warn("lease {}: {}", key.toString(), current.error().message);
        co_return false;
      }
      api::Lease lease;
      lease.metadata.namespace_ = key.namespace_;
      lease.metadata.name = key.name;
      lease.spec = {options_.identity, seconds(options_.leaseDuration), now.stamp(), now.stamp(),
                    0};
      auto creating = create(api_, lease);
      auto created = co_await creating;
      if (!created) {
        log::warn("lease {}: {}", key.toString(), created.error().message);
        co_return false;
      }
      observedVersion_ = created->metadata.resourceVersion;
      observedAt_ = executor_.steadyNow();
      co_return true;
    }
    const api::LeaseSpec& spec = current->spec;
    if (current->metadata.resourceVersion != observedVersion_) {
      observedVersion_ = current->metadata.resourceVersion;
      observedAt_ = executor_.steadyNow();
    }
    const bool mine = spec.holderIdentity == options_.identity;
    const Duration validFor = std::chrono::seconds(spec.leaseDurationSeconds);
    if (!mine && !spec.holderIdentity.empty() && observedAt_ + validFor > executor_.steadyNow()) {
      log::v(4, "lease {} is held by {}", key.toString(), spec.holderIdentity);
      co_return false;
    }
    json::object change{{"holderIdentity", options_.identity},
                        {"leaseDurationSeconds", seconds(options_.leaseDuration)},
                        {"renewTime", now.text()}};
    if (!mine) {
      change["acquireTime"] = now.text();
      change["leaseTransitions"] = spec.leaseTransitions + 1;
    }
    json::value document{{"metadata", {{"resourceVersion", current->metadata.resourceVersion}}},
                         {"spec", std::move(change)}};
    auto writing = mergePatch(api_, api::Lease::kType, key, std::move(document));
    auto written = co_await writing;
    if (!written) {
      log::warn("lease {}: {}", key.toString(), written.error().message);
      co_return false;
    }
    observedVersion_ = textAt(*written, "metadata", "resourceVersion");
    observedAt_ = executor_.steadyNow();
    co_return true;
  }

  Task<void> giveBack(std::function<void()> done) {
    const bool led = leading_;
    setLeading(false);
    if (led && options_.releaseOnStop) {
      const MicroNow now{executor_.wallNow()};
      json::value document{
          {"metadata", {{"resourceVersion", observedVersion_}}},
          {"spec",
           {{"holderIdentity", ""}, {"leaseDurationSeconds", 1}, {"renewTime", now.text()}}}};
      const api::ObjectKey key{options_.leaseNamespace, options_.leaseName};
      auto writing = mergePatch(api_, api::Lease::kType, key, std::move(document));
      const auto written = co_await writing;
      if (!written) log::v(2, "could not release the lease: {}", written.error().message);
    }
    done();
  }

  struct MicroNow {
    WallTime time;
    api::MicroTime stamp() const { return {time}; }
    std::string text() const { return formatMicroTime(time); }
  };
  static std::int32_t seconds(Duration duration) {
    return static_cast<std::int32_t>(
        std::chrono::duration_cast<std::chrono::seconds>(duration).count());
  }

  Api& api_;
  Executor& executor_;
  const LeaderElectionOptions options_;
  Random random_;
  std::function<void()> onStarted_;
  std::function<void()> onStopped_;
  bool leading_ = false;
  bool stopped_ = false;
  TimerId deadline_ = 0;
  SteadyTime leadsUntil_{};
  std::string observedVersion_;
  SteadyTime observedAt_{};
  TaskGroup tasks_;
};

LeaderElector::LeaderElector(Api& api, Executor& executor, LeaderElectionOptions options,
                             Random random, std::function<void()> onStarted,
                             std::function<void()> onStopped)
    : loop_(std::make_unique<Loop>(api, executor, std::move(options), random, std::move(onStarted),
                                   std::move(onStopped))) {}

LeaderElector::~LeaderElector() = default;

void LeaderElector::start() {
  loop_->start();
}
bool LeaderElector::leading() const {
  return loop_->leading();
}
void LeaderElector::release(std::function<void()> done) {
  loop_->release(std::move(done));
}

Result<> validate(const LeaderElectionOptions& options) {
  if (options.retryPeriod <= Duration::zero())
    return fail(ErrorCode::Invalid, "leader-elect-retry-period: must be greater than zero");
  if (options.leaseDuration <= options.renewDeadline)
    return fail(ErrorCode::Invalid,
                "leader-elect-lease-duration: must be greater than leader-elect-renew-deadline");
  // Candidates wait up to a fifth longer than the period.
  if (options.renewDeadline <= options.retryPeriod * 12 / 10)
    return fail(ErrorCode::Invalid,
                "leader-elect-renew-deadline: must be greater than 1.2 times "
                "leader-elect-retry-period");
  if (options.leaseDuration < 1s)
    return fail(ErrorCode::Invalid, "leader-elect-lease-duration: must be at least 1s");
  return {};
}

std::string makeIdentity(Random& random) {
  return fmt::format("{}_{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", hostName(),
                     random.next() & 0xffffffff, random.next() & 0xffff, random.next() & 0xfff,
                     (random.next() & 0x3fff) | 0x8000, random.next() & 0xffffffffffff);
}

}  // namespace koord::kube
