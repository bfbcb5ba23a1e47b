#pragma once

// The "test" subcommand of koordctl: its flags, and the embedded clusters that tests run on.
//
//   scenario::TestFlags flags;
//   CLI::App* test = scenario::addTestCommand(app, flags);
//   CLI11_PARSE(app, argc, argv);
//   if (test->parsed()) return scenario::runTestCommand(flags, programPath);

#include <CLI/App.hpp>

#include <string>

#include "cluster/scenario/command.h"

namespace koord::scenario {

struct TestFlags {
  TestCommandOptions options;
  std::string applyTimeout, assertTimeout, cleanupTimeout, deleteTimeout, errorTimeout, execTimeout;
  std::string logFile;
  std::uint64_t seed = 1;
  CLI::Option* onCluster = nullptr;  // --kubeconfig
};

// The flags are filled in when the app parses.
CLI::App* addTestCommand(CLI::App& app, TestFlags& flags);

// The exit status. `program` is the path of koordctl, which is started as "koordctl up" for tests
// that run processes.
int runTestCommand(TestFlags& flags, const std::string& program);

}  // namespace koord::scenario
