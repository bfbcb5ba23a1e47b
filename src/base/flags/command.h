#pragma once

// A program of several commands, as "koordctl up --nodes 3": each has flags of its own
// (flag_set.h).
//
//   flags::Commands commands("koordctl", "Koordinator at the command line");
//   flags::Command& up = commands.add("up", "Runs a cluster on this machine");
//   up.flags.integer("nodes", nodes, "Simulated nodes");
//   up.run = [&](const auto&) { return runUp(nodes); };
//   return commands.run({argv + 1, argv + argc});

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "base/flags/flag_set.h"

namespace koord::flags {

struct Command {
  std::string name;       // "up"; of two words for what belongs together: "explain pod"
  std::string summary;    // one line
  std::string arguments;  // what follows the flags, for people; "" = it takes none
  std::string details;    // more for --help, after the flags
  FlagSet flags{Dialect::Pflag};
  // The exit status.
  std::function<int(const std::vector<std::string>& arguments)> run;
};

class Commands {
 public:
  Commands(std::string program, std::string summary)
      : program_(std::move(program)), summary_(std::move(summary)) {}

  Command& add(std::string name, std::string summary);
  // Runs the command that the arguments begin with. --help and -h go to standard output; what is
  // wrong goes to standard error, with status 2.
  int run(const std::vector<std::string>& arguments);

  // What is wrong, as for arguments; the command is the one to look at for more.
  int refuse(const std::string& why, const std::string& command = "") const;

 private:
  int runOne(Command& command, std::vector<std::string> arguments) const;
  std::string help(const std::string& prefix) const;

  std::string program_;
  std::string summary_;
  std::deque<Command> commands_;
};

}  // namespace koord::flags
