#pragma once

// The command line of every component: its own flags and the common ones, which are klog's flags,
// those of Kubernetes' components, --help and --version.
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
    int badUsage = 1;  // exit status
    // True: arguments that are not flags are ignored with a warning. False: they are an error.
    bool takesArguments = false;
    // --stderrthreshold applies with --logtostderr, too, from INFO on.
    bool thresholdAlways = false;
  };

  // The component is filled by parse() and must outlive this.
  CommandLine(Rules rules, ComponentOptions& component, std::string summary);

  flags::FlagSet& flags() { return flags_; }
  // Adds --feature-gates. `component` is an optional prefix of a gate ("kube:A=true"), "" = none.
  void featureGates(flags::FeatureGates& gates, std::string component = "");

  // Adds the log flags and reads the arguments. Returns the exit status if the program must end,
  // because it answered --help or --version or printed an error to standard error.
  std::optional<int> parse(int argc, const char* const* argv);
  std::optional<int> parse(const std::vector<std::string>& arguments);

 private:
  void addLogFlags();
  int refuse(const std::string& why) const;
  std::string help() const;
  // Warnings for the start about flags and gates that have no effect.
  void noteFlagsWithoutEffect();

  Rules rules_;
  ComponentOptions& component_;
  std::string summary_;
  flags::FlagSet flags_;
  flags::FeatureGates* gates_ = nullptr;
  std::string version_ = "false";
};

}  // namespace koord::kube
