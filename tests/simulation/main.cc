// koord_simulation: runs the scheduler in simulated clusters, one per seed, and checks the
// invariants (see simulation.h). A failing seed always fails in the same way:
//
//   koord_simulation --first-seed 42 --verbose
//
// With --foretold N it compares at least N decisions with what the scheduler's oracle foretold: it
// asks about every new pod and adds seeds until there are so many. Prints how many each plugin of a
// feature took part in.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <map>

#include "base/log.h"
#include "simulation/foretelling.h"
#include "simulation/journal.h"
#include "simulation/simulation.h"

int main(int argc, char** argv) {
  using koord::simulation::RunOutcome;
  std::uint64_t first = 1, seeds = 1;
  std::size_t wanted = 0;
  bool verbose = false, repeat = false;
  auto& tolerated = koord::simulation::Journal::tolerated;
  std::set<std::string> features;
  CLI::App app("Simulates clusters to find bugs of the scheduler");
  app.add_option("--seeds", seeds, "how many seeds to run");
  app.add_option("--first-seed", first, "the first of them");
  app.add_option("--features", features, "names of those that every seed has, by commas")
      ->delimiter(',');
  app.add_option("--tolerate", tolerated, "invariants that need not hold, by commas")
      ->delimiter(',');
  app.add_option(
      "--foretold", wanted,
      "ask about every new pod, and run more seeds until so many decisions are foretold");
  app.add_flag("--verbose", verbose, "print everything that happens");
  app.add_flag("--repeat", repeat, "run each seed twice; both have to go the same way");
  CLI11_PARSE(app, argc, argv);
  koord::log::setup({.program = "koord_simulation",
                     .verbosity = verbose ? 3 : 0,
                     .file = verbose ? "" : "/dev/null"});

  if (wanted > 0) koord::simulation::Foretelling::share = 1;
  std::map<std::string, std::size_t> foretoldWith;  // by plugin
  std::size_t attempts = 0, bound = 0, preempted = 0, foretold = 0;
  std::uint64_t failed = 0;
  std::uint64_t seed = first;
  for (; seed < first + seeds || foretold < wanted; ++seed) {
    RunOutcome outcome = koord::simulation::simulate(seed, verbose, features);
    if (repeat &&
        koord::simulation::simulate(seed, false, features).fingerprint != outcome.fingerprint)
      outcome.violation = "determinism: a second run of the seed went another way";
    attempts += outcome.attempts;
    bound += outcome.bound;
    preempted += outcome.preempted;
    foretold += outcome.foretold;
    for (const std::string& plugin : outcome.plugins) foretoldWith[plugin] += outcome.foretold;
    if (outcome.violation.empty()) continue;
    ++failed;
    if (!verbose)
      for (const auto& line : outcome.lastLines) std::printf("%s\n", line.c_str());
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed),
                outcome.violation.c_str());
    std::fflush(stdout);
  }
  std::printf(
      "%llu seeds, %llu failed; %zu attempts, %zu pods bound, %zu preempted, "
      "%zu foretold\n",
      static_cast<unsigned long long>(seed - first), static_cast<unsigned long long>(failed),
      attempts, bound, preempted, foretold);
  if (wanted > 0)
    for (const auto& [plugin, count] : foretoldWith)
      std::printf("%zu foretold with %s\n", count, plugin.c_str());
  return failed == 0 ? 0 : 1;
}
