#pragma once

// The command line of every component: its own flags beside those that all have, for the log
// (klog's and those of Kubernetes' components), --help and --version.
//
//   kube::CommandLine line(flags::Dialect::Pflag, component, "Assigns pods to nodes");
//   addFlags(line.flags(), ...);
//   if (const auto status = line.parse(argc, argv)) return *status;
//   return kube::runComponent(component, ...);

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/flags/feature_gates.h"
#include "base/flags/flag_set.h"
#include "kube/component.h"

namespace koord::kube {

class CommandLine {
 public:
  struct Rules {
    flags::Dialect dialect = flags::Dialect::Pflag;
    int badUsage = 1;              // exit status
    bool takesArguments = false;   // what is no flag is ignored, with a warning; else an error
    bool thresholdAlways = false;  // --stderrthreshold holds with --logtostderr, from INFO on
  };

  // The component is filled by parse() and must outlive this.
  CommandLine(Rules rules, ComponentOptions& component, std::string summary);

  flags::FlagSet& flags() { return flags_; }
  // --feature-gates. `component` is a prefix that may stand before a gate ("kube:A=true"), "" =
  // none.
  void featureGates(flags::FeatureGates& gates, std::string component = "");

  // Adds the flags for the log and reads the arguments. A status ends the program: --help and
  // --version were answered, or what is wrong was said on standard error.
  std::optional<int> parse(int argc, const char* const* argv);
  std::optional<int> parse(const std::vector<std::string>& arguments);

 private:
  void addLogFlags();
  int refuse(const std::string& why) const;
  std::string help() const;
  // What is to be said at start about flags and gates that change nothing.
  void noteIdle();

  Rules rules_;
  ComponentOptions& component_;
  std::string summary_;
  flags::FlagSet flags_;
  flags::FeatureGates* gates_ = nullptr;
  std::string version_ = "false";
};

}  // namespace koord::kube
