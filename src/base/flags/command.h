#pragma once

// A program of several commands, such as "koordctl up --nodes 3": each has its own flags
// (flag_set.h).
//
//   flags::Commands commands("koordctl", "Koordinator at the command line");
//   flags::Command& up = commands.add("up", "Runs a cluster on this host");
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
  std::string name;       // "up"; two words for related commands: "explain pod"
  std::string summary;    // one line
  std::string arguments;  // the arguments after the flags, for --help; "" = none
  std::string details;    // more for --help, after the flags
  FlagSet flags{Dialect::Pflag};
  // What a shell offers for the argument after `given`; the flags hold what the line has so far.
  // Null = names of files if the command takes arguments.
  std::function<Completion(const std::vector<std::string>& given)> complete;
  // Returns the exit status.
  std::function<int(const std::vector<std::string>& arguments)> run;
};

class Commands {
 public:
  Commands(std::string program, std::string summary)
      : program_(std::move(program)), summary_(std::move(summary)) {}

  Command& add(std::string name, std::string summary);
  // Runs the command that the arguments begin with. Prints --help and -h to standard output, errors
  // to standard error with status 2.
  int run(const std::vector<std::string>& arguments);

  // Prints an error as for invalid arguments and returns status 2; `command` is the command whose
  // --help the error names.
  int refuse(const std::string& why, const std::string& command = "") const;

  // What a shell offers for the last of these words, which may be empty; the others are complete.
  // The flags of the command take the values that the line has.
  Completion complete(const std::vector<std::string>& words);
  const std::string& program() const { return program_; }

 private:
  Command* find(const std::vector<std::string>& arguments);
  std::string suggestion(const std::string& wrong, const std::string& prefix) const;
  int runOne(Command& command, std::vector<std::string> arguments) const;
  std::string help(const std::string& prefix) const;

  std::string program_;
  std::string summary_;
  std::deque<Command> commands_;
};

}  // namespace koord::flags
