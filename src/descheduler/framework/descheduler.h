#pragma once

// The core of koord-descheduler: stores, profiles, and the loop of cycles.
//
// A cycle begins every deschedulingInterval (0: once), measured from start to start, never two at a
// time. It runs the deschedule plugins of all profiles in the order of the file, then their balance
// plugins. If a plugin or profile fails, the others still run.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "descheduler/framework/profile.h"

namespace koord::descheduler {

class Descheduler {
 public:
  struct Options {
    PreparedConfiguration prepared;
    std::function<bool(std::string_view)> gate = [](std::string_view) { return false; };
    net::HttpTransport* http = nullptr;
    // Called once if the start fails. The process then ends.
    std::function<void(const Error& error)> onFatal = [](const Error&) {};
  };
  // Creates all plugins. Does not call the API before start().
  Descheduler(kube::Api& api, Executor& executor, Random random, Options options,
              const Registry& registry, Metrics& metrics);
  ~Descheduler();

  // Called on the leader: fills the stores, starts the plugins, then the cycles.
  void start();
  // Starts no more cycles. Calls `done` when the plugins have stopped.
  void stop(Callback done);

  // Runs one cycle now; for tests and benchmarks. Call start() first.
  Task<Result<>> cycle();
  bool started() const { return running_; }
  std::uint64_t cycles() const { return shared_.cycle; }

  Stores& stores() { return stores_; }
  const Journal& journal() const { return journal_; }
  Profile& firstProfile() { return *profiles_.front(); }
  const PreparedConfiguration& prepared() const { return options_.prepared; }

 private:
  Result<> startPlugins();
  Task<void> run();
  Task<Result<>> runProfiles();
  void countEarlierEvictions();
  void stopNext(std::size_t index, Callback done);

  Options options_;
  Metrics& metrics_;
  Executor& executor_;
  Stores stores_;
  EvictionLimiter limiter_;
  Journal journal_;
  Shared shared_;
  std::vector<std::unique_ptr<Profile>> profiles_;
  std::vector<std::shared_ptr<Plugin>> plugins_;
  bool running_ = false;
  bool resumed_ = false;  // the evictions of earlier processes are counted
  std::string problem_;   // error of the last cycle
  std::optional<TaskGroup> tasks_;
};

}  // namespace koord::descheduler
