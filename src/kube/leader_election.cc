#include "kube/leader_election.h"

#include <fmt/format.h>

#include <utility>

#include "api/core.h"
#include "base/host_name.h"
#include "base/json_edit.h"
#include "base/log.h"
#include "base/time.h"
#include "kube/client.h"

// Why two never lead: a candidate takes a lease only when it has watched it unchanged for
// leaseDuration on its own clock. A leader counts renewDeadline from before it sent the last
// request that succeeded, which is before the lease changed, which is before any candidate could
// have seen that. It stops by its own timer, whether or not it can reach the server. As
// renewDeadline < leaseDuration it has stopped before another candidate starts, as long as the
// clocks run at about the same rate. Times in the lease are informational and are never compared.
//
// Writes name the resourceVersion that was last seen. Of two candidates that take a free lease at
// once, one gets a conflict. A leader renews without reading first, which halves the requests; when
// that conflicts it reads and decides again.
//
// An attempt that hangs is given up after half of renewDeadline, since one dead connection would
// otherwise use up the time in which the next attempt would succeed. A lease whose write took
// longer than renewDeadline counts as not taken. A leader that stops in good order clears the
// holder, so that the next one need not wait.
//
// Cost: one write per retryPeriod for the leader, one read for each other candidate. Rules:
// leaderelection of client-go.

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
    tasks_.spawn(releaseLease(std::move(done)));
  }

 private:
  Task<void> run() {
    while (!stopped_) {
      const SteadyTime began = executor_.steadyNow();
      auto attempt = attemptInTime();
      const bool held = co_await attempt;
      if (stopped_) co_return;
      // A lease that was written too long ago does not count.
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
    log::warn("lease {}/{}: no response in time", options_.leaseNamespace, options_.leaseName);
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
      log::error("lost the lease {}/{}: it was not renewed in time", options_.leaseNamespace,
                 options_.leaseName);
      onStopped_();
    });
  }

  // A leader writes without reading first; whatever goes wrong with that, the lease tells more.
  Task<bool> tryAcquireOrRenew() {
    if (leading()) {
      auto renewing = write(claimed());
      const auto renewed = co_await renewing;
      if (renewed) co_return true;
      log::v(2, "lease {}: {}; reading it", key_.toString(), renewed.error().message);
    }
    auto reading = getObject(api_, api::Lease::kType, key_);
    auto current = co_await reading;
    const bool absent = !current && current.error().code == ErrorCode::NotFound;
    if (!current && !absent) {
      log::warn("lease {}: {}", key_.toString(), current.error().message);
      co_return false;
    }
    if (!absent) {
      observe(*std::move(current));
      const auto spec = specOf(lease_);
      if (!spec) {
        log::warn("lease {}: {}", key_.toString(), spec.error().message);
        co_return false;
      }
      const std::string& holder = spec->holderIdentity;
      const Duration validFor = std::chrono::seconds(spec->leaseDurationSeconds);
      if (holder != options_.identity && !holder.empty() &&
          observedAt_ + validFor > executor_.steadyNow()) {
        // Told when it changes: a candidate asks every two seconds, for months.
        if (std::exchange(reportedHolder_, holder) != holder)
          log::v(2, "lease {} is held by {}", key_.toString(), holder);
        co_return false;
      }
    }
    auto writing = absent ? create() : write(claimed());
    const auto written = co_await writing;
    if (!written) log::warn("lease {}: {}", key_.toString(), written.error().message);
    co_return written.has_value();
  }

  Task<void> releaseLease(std::function<void()> done) {
    const bool led = leading_;
    setLeading(false);
    if (led && options_.releaseOnStop) {
      const std::string now = formatMicroTime(executor_.wallNow());
      json::value lease = lease_;
      json::object& spec = koord::objectIn(lease, "spec");
      spec["holderIdentity"] = "";
      spec["leaseDurationSeconds"] = 1;
      spec["acquireTime"] = now;
      spec["renewTime"] = now;
      auto writing = write(std::move(lease));
      const auto written = co_await writing;
      if (!written) log::v(2, "cannot release the lease: {}", written.error().message);
    }
    done();
  }

  // The lease as it was last seen, with this process as its holder from now on.
  json::value claimed() const {
    const std::string now = formatMicroTime(executor_.wallNow());
    json::value lease = lease_;
    json::object& spec = koord::objectIn(lease, "spec");
    if (textAt(lease, "spec", "holderIdentity") != options_.identity) {
      const std::int64_t transitions = wholeNumber(memberOf(spec, "leaseTransitions")).value_or(0);
      spec["leaseTransitions"] = transitions < INT32_MAX ? transitions + 1 : INT32_MAX;
      spec["acquireTime"] = now;
    }
    spec["holderIdentity"] = options_.identity;
    spec["leaseDurationSeconds"] = seconds(options_.leaseDuration);
    spec["renewTime"] = now;
    annotate(lease.get_object()["metadata"]);
    return lease;
  }

  void annotate(json::value& metadata) const {
    if (!options_.annotations) return;
    json::object& annotations = koord::objectIn(metadata, "annotations");
    for (const auto& [key, value] : options_.annotations()) annotations[key] = value;
  }

  Task<Result<>> create() {
    const std::string now = formatMicroTime(executor_.wallNow());
    json::value metadata = {{"namespace", key_.namespace_}, {"name", key_.name}};
    annotate(metadata);
    auto creating =
        createObject(api_, api::Lease::kType, {key_.namespace_, {}},
                     json::object{{"apiVersion", api::apiVersionOf(api::Lease::kType)},
                                  {"kind", api::Lease::kType.kind},
                                  {"metadata", std::move(metadata)},
                                  {"spec",
                                   {{"holderIdentity", options_.identity},
                                    {"leaseDurationSeconds", seconds(options_.leaseDuration)},
                                    {"acquireTime", now},
                                    {"renewTime", now},
                                    {"leaseTransitions", 0}}}});
    auto created = co_await creating;
    co_return observeWritten(std::move(created));
  }

  // As an update of the whole object that was read: roles for leader election let candidates get,
  // create and update, but not patch.
  Task<Result<>> write(json::value lease) {
    auto updating = updateObject(api_, api::Lease::kType, key_, std::move(lease));
    auto updated = co_await updating;
    co_return observeWritten(std::move(updated));
  }

  Result<> observeWritten(Result<json::value> written) {
    if (!written) return fail(std::move(written.error()));
    observe(*std::move(written));
    return {};
  }

  void observe(json::value lease) {
    const auto versionOf = [](const json::value& object) {
      return textAt(object, "metadata", "resourceVersion");
    };
    if (lease_.is_null() || versionOf(lease) != versionOf(lease_))
      observedAt_ = executor_.steadyNow();
    lease_ = std::move(lease);
  }

  static Result<api::LeaseSpec> specOf(const json::value& lease) {
    auto decoded = api::decode<api::Lease>(lease);
    if (!decoded) return fail(std::move(decoded.error()));
    return std::move(decoded->spec);
  }

  // Rounded up: a lease that says less than the leader counts on is taken while it still leads.
  static std::int32_t seconds(Duration duration) {
    return static_cast<std::int32_t>(std::chrono::ceil<std::chrono::seconds>(duration).count());
  }

  Api& api_;
  Executor& executor_;
  const LeaderElectionOptions options_;
  const api::ObjectKey key_{options_.leaseNamespace, options_.leaseName};
  Random random_;
  std::function<void()> onStarted_;
  std::function<void()> onStopped_;
  bool leading_ = false;
  bool stopped_ = false;
  TimerId deadline_ = 0;
  SteadyTime leadsUntil_{};
  json::value lease_;        // as last seen; null before
  SteadyTime observedAt_{};  // when it was first seen so
  std::string reportedHolder_;
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
