// Leader election among machines whose clocks differ in rate and reading, over networks that fail
// each on its own: there is never more than one leader, and there is one again when the trouble is
// over.
//
// KOORD_FAULT_SEEDS=1000 for more seeds, KOORD_FAULT_SEED=42 for one.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "base/log.h"
#include "base/virtual_loop.h"
#include "kube/http_api.h"
#include "kube/leader_election.h"
#include "net/testing/sim_network.h"

namespace koord::kube {
namespace {

using namespace std::chrono_literals;

// The clock of one machine.
class SkewedClock final : public Executor {
 public:
  SkewedClock(VirtualLoop& loop, double rate, Duration offset)
      : loop_(loop), rate_(rate), offset_(offset) {}

  WallTime wallNow() const override { return loop_.wallNow() + offset_; }
  SteadyTime steadyNow() const override {
    return SteadyTime{} + scaled(loop_.steadyNow() - SteadyTime{}, rate_);
  }
  void post(Callback fn) override { loop_.post(std::move(fn)); }
  TimerId runAt(SteadyTime when, Callback fn) override {
    // Rounded up: a timer does not fire before its time.
    return loop_.runAt(SteadyTime{} + scaled(when - SteadyTime{}, 1 / rate_) + 10ns, std::move(fn));
  }
  void cancel(TimerId timer) override { loop_.cancel(timer); }

 private:
  static Duration scaled(Duration duration, double rate) {
    return Duration(static_cast<std::int64_t>(static_cast<double>(duration.count()) * rate));
  }
  VirtualLoop& loop_;
  const double rate_;
  const Duration offset_;
};

// A server that keeps one Lease and checks resource versions.
class SharedLeaseServer {
 public:
  void handle(const net::ServerRequest& request, net::Responder& to) {
    if (request.method == "GET") return lease_.empty() ? refuse(to, 404, "NotFound") : send(to);
    json::object body = parseJson(request.body).value().as_object();
    if (request.method == "POST") {
      if (!lease_.empty()) return refuse(to, 409, "AlreadyExists");
      lease_ = std::move(body);
    } else {
      if (textAt(body, "metadata", "resourceVersion") != std::to_string(version_))
        return refuse(to, 409, "Conflict");
      auto& spec = lease_["spec"].as_object();
      for (auto& entry : body["spec"].as_object()) spec[entry.key()] = entry.value();
    }
    lease_["metadata"].as_object()["resourceVersion"] = std::to_string(++version_);
    send(to);
  }

 private:
  void send(net::Responder& to) { to.respond(200, {}, toJson(lease_)); }
  static void refuse(net::Responder& to, int status, std::string_view reason) {
    to.respond(status, {},
               fmt::format(R"({{"kind":"Status","reason":"{}","message":"no"}})", reason));
  }

  json::object lease_;
  int version_ = 0;
};

class LeaderSkewTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { log::setup({.program = "test", .file = "/dev/null"}); }
  static void TearDownTestSuite() { log::setup({.program = "test"}); }

  // A machine that always runs one process that wants to lead.
  class Machine {
   public:
    Machine(VirtualLoop& loop, SharedLeaseServer& server, Random random, int& leaders, int& worst)
        : loop_(loop),
          random_(random),
          clock_(loop, 0.85 + 0.3 * random_.unit(), 1h * random_.below(100)),
          network(loop, random_.fork()),
          api_(network, loop, {.server = "http://server"}),
          leaders_(leaders),
          worst_(worst) {
      network.listen([&server](net::ServerRequest request, std::shared_ptr<net::Responder> to) {
        server.handle(request, *to);
      });
      startProcess();
    }

    // Without a word to anyone.
    void kill() {
      if (std::exchange(counted_, false)) --leaders_;
      elector_.reset();
      restartSoon();
    }
    void stopGracefully() {
      if (std::exchange(counted_, false)) --leaders_;
      elector_->release([this] { loop_.post([this] { kill(); }); });
    }
    bool running() const { return elector_ != nullptr; }
    bool leading() const { return elector_ && elector_->leading(); }

   private:
    void startProcess() {
      LeaderElectionOptions options;
      options.leaseName = "lease";
      options.identity = fmt::format("{:x}", random_.next());
      elector_ = std::make_unique<LeaderElector>(
          api_, clock_, options, random_.fork(),
          [this] {
            counted_ = true;
            worst_ = std::max(worst_, ++leaders_);
          },
          [this] {
            if (std::exchange(counted_, false)) --leaders_;
            loop_.post([this] { kill(); });  // the process exits
          });
      elector_->start();
    }
    void restartSoon() {
      loop_.runAfter(Duration(random_.below(5'000'000'000)), [this] {
        if (!elector_) startProcess();
      });
    }

    VirtualLoop& loop_;
    Random random_;
    SkewedClock clock_;

   public:
    net::SimNetwork network;

   private:
    HttpApi api_;
    int& leaders_;
    int& worst_;
    bool counted_ = false;
    std::unique_ptr<LeaderElector> elector_;
  };

  static void run(std::uint64_t seed) {
    SCOPED_TRACE(fmt::format("KOORD_FAULT_SEED={}", seed));
    Random random(seed);
    VirtualLoop loop;
    SharedLeaseServer server;
    int leaders = 0, worst = 0, changes = 0;
    std::vector<std::unique_ptr<Machine>> machines;
    for (int i = 0; i < 3; ++i)
      machines.push_back(std::make_unique<Machine>(loop, server, random.fork(), leaders, worst));
    for (int phase = 0; phase < 30; ++phase) {
      for (auto& machine : machines) {
        auto& faults = machine->network.faults;
        faults = {};
        faults.maxDelay = random.chance(0.3) ? 12s : 100ms;
        if (random.chance(0.3)) faults.swallow = 1;  // cut off from the server
        if (random.chance(0.3)) faults.loseAnswer = random.unit();
        if (random.chance(0.3)) faults.repeat = random.unit();
        if (random.chance(0.2)) faults.overload = random.unit();
        if (random.chance(0.1) && machine->running()) {
          random.chance(0.5) ? machine->kill() : machine->stopGracefully();
          ++changes;
        }
      }
      if (random.chance(0.2)) loop.jumpWallClock(random.chance(0.5) ? 100h : -100h);
      loop.advance(Duration(random.below(20'000'000'000)));
      ASSERT_LE(worst, 1) << "two processes led at once";
    }
    for (auto& machine : machines) machine->network.faults = {};
    loop.advance(1min);
    EXPECT_EQ(std::ranges::count_if(machines, [](auto& machine) { return machine->leading(); }), 1);
    EXPECT_EQ(leaders, 1);
    EXPECT_EQ(worst, 1);
  }
};

TEST_F(LeaderSkewTest, ThereIsNeverMoreThanOneLeaderAndOneAgainAfterTheTrouble) {
  const auto number = [](const char* name) {
    const char* const text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 10) : 0;
  };
  if (const auto seed = number("KOORD_FAULT_SEED")) return run(seed);
  const std::uint64_t seeds = std::max<std::uint64_t>(number("KOORD_FAULT_SEEDS"), 8);
  for (std::uint64_t seed = 1; seed <= seeds && !HasFatalFailure(); ++seed) run(seed);
}

}  // namespace
}  // namespace koord::kube
