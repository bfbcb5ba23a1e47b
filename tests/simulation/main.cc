// koord_simulation: runs the scheduler in simulated clusters, one per seed, and checks the
// invariants (see simulation.h). A failing seed always fails in the same way:
//
//   koord_simulation --first-seed 42 --verbose

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "base/log.h"
#include "simulation/journal.h"
#include "simulation/simulation.h"

int main(int argc, char** argv) {
  using koord::simulation::RunOutcome;
  std::uint64_t first = 1, seeds = 1;
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
  app.add_flag("--verbose", verbose, "print everything that happens");
  app.add_flag("--repeat", repeat, "run each seed twice; both have to go the same way");
  CLI11_PARSE(app, argc, argv);
  koord::log::setup({.program = "koord_simulation",
                     .verbosity = verbose ? 3 : 0,
                     .file = verbose ? "" : "/dev/null"});

  std::size_t attempts = 0, bound = 0, preempted = 0, foretold = 0;
  std::uint64_t failed = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    RunOutcome outcome = koord::simulation::simulate(seed, verbose, features);
    if (repeat &&
        koord::simulation::simulate(seed, false, features).fingerprint != outcome.fingerprint)
      outcome.violation = "determinism: a second run of the seed went another way";
    attempts += outcome.attempts;
    bound += outcome.bound;
    preempted += outcome.preempted;
    foretold += outcome.foretold;
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
      static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(failed), attempts,
      bound, preempted, foretold);
  return failed == 0 ? 0 : 1;
}
