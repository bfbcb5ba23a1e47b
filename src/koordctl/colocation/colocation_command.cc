#include "koordctl/colocation/colocation_command.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/file.h"
#include "base/log.h"
#include "koordctl/colocation/study_report.h"

namespace koord::koordctl {

namespace {

Result<> writeReport(const std::string& folder, const colocation::StudyResult& study) {
  if (auto written = writeFileAtomic(folder + "/report.json", studyJson(study) + "\n", 0644);
      !written)
    return written;
  return writeFileAtomic(folder + "/report.html", studyPage(study), 0644);
}

}  // namespace

int runColocation(const ColocationFlags& flags, bool verbose, std::string& out,
                  std::string& errors) {
  colocation::StudyOptions options;
  options.days = static_cast<double>(flags.days);
  options.seeds = static_cast<int>(flags.seeds);
  options.firstSeed = static_cast<std::uint64_t>(flags.seed);
  options.ablation = flags.ablation;
  options.sweep = flags.sweep;
  options.parameters.nodes = static_cast<double>(flags.nodes);
  const auto failed = [&errors](const Error& error) {
    errors += error.message + "\n";
    return 1;
  };
  for (const std::string& assignment : flags.set)
    if (const auto set = setParameter(options.parameters, assignment); !set)
      return failed(Error(set.error()).within("--colocation-set"));
  // Before the work, which may take minutes.
  if (const auto made = makeDirs(flags.folder, 0755); !made) return failed(made.error());
  const auto study = runStudy(options, [verbose](const std::string& run) {
    if (verbose) std::fputs((run + "\n").c_str(), stderr);
  });
  if (!study) return failed(study.error());
  out += studyText(*study);
  if (const auto written = writeReport(flags.folder, *study); !written)
    return failed(written.error());
  return 0;
}

int printColocation(const ColocationFlags& flags) {
  log::setup({.program = "koordctl", .file = "/dev/null"});
  std::string out, errors;
  const int status = runColocation(flags, true, out, errors);
  std::fputs(out.c_str(), stdout);
  std::fflush(stdout);
  std::fputs(errors.c_str(), stderr);
  return status;
}

void addColocationFlags(flags::FlagSet& set, ColocationFlags& flags) {
  set.text("colocation", flags.folder,
           "Folder for the report of a co-location study on simulated nodes, without a cluster");
  set.integer("colocation-days", flags.days, "Virtual days of each run of the study")
      .within(1, 365);
  set.integer("colocation-nodes", flags.nodes, "Nodes of the study").within(1, 5000);
  set.integer("colocation-seeds", flags.seeds, "Runs of each configuration of the study")
      .within(1, 1000);
  set.integer("colocation-seed", flags.seed, "Seed of the first run of the study")
      .within(0, 1'000'000'000);
  set.list("colocation-set", flags.set,
           "NAME=VALUE of a parameter of the study; the report lists all");
  set.boolean("colocation-ablation", flags.ablation,
              "Also run the study with each mechanism switched off");
  set.boolean("colocation-sweep", flags.sweep,
              "Also run the study with each assumption changed, which takes ten times as long");
}

}  // namespace koord::koordctl
