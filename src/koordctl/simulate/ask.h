#pragma once

// What the commands that simulate have in common: where they ask, and the files of a question.

#include <functional>
#include <string>
#include <vector>

#include "base/flags/flag_set.h"
#include "koordctl/simulate/question.h"

namespace koord::koordctl {

struct SimulationSource {
  std::string kubeconfig;
  std::string scheduler;   // an address
  std::string snapshot;    // the file of a snapshot, in place of a cluster
  bool noCluster = false;  // neither: there are no objects but those of the question
  std::string namespace_;  // of objects that name none; "" = that of the kubeconfig, or "default"
};

// --snapshot, --namespace, --scheduler and --kubeconfig. `source` must outlive the set.
void addSourceFlags(flags::FlagSet& set, SimulationSource& source);
// What is wrong with these flags; "" = nothing.
std::string problemOf(const SimulationSource& source);

// The specs of questions about one state and with one configuration.
using Specs = std::vector<json::object>;
// Given the namespace of objects that name none.
using MakeSpecs = std::function<Result<Specs>(const std::string& namespace_)>;
// Asks the cluster, or the snapshot, which is read once: an answer for each spec. Blocks. Sets up
// the log of the process.
Result<std::vector<SimulationAnswer>> askSimulation(const SimulationSource& source,
                                                    const MakeSpecs& makeSpecs);

// The objects of these manifests. The error names the file.
Result<json::array> objectsInFiles(const std::vector<std::string>& files,
                                   const std::string& namespace_);
// A KubeSchedulerConfiguration.
Result<json::value> configurationIn(const std::string& file);

void addOutputFlag(flags::FlagSet& set, std::string& output);
// The answer in the format of that flag; text: makes the default one.
std::string formatted(const json::value& answer, const std::string& output,
                      const std::function<std::string()>& text);

// On standard error; each note once.
void printNotes(const std::vector<SimulationAnswer>& answers);
void printFailure(const Error& error);

}  // namespace koord::koordctl
