#include "koordctl/replay/replay_command.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>

#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "base/version/version.h"
#include "koordctl/explain/explanation.h"
#include "koordctl/replay/comparison.h"
#include "scheduler/app/recorded_instance.h"
#include "scheduler/app/recording_header.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/services/explain.h"

namespace koord::koordctl {

namespace {

using Outcome = scheduler::recording::Replayer::Outcome;
using scheduler::recording::Reader;

struct Stop {
  std::string pod;  // NAMESPACE/NAME; "" = nowhere
  int attempt = 0;  // 0 = the first one in the recording
};

Result<Stop> parseUntil(std::string_view text) {
  if (text.empty()) return Stop{};
  const auto wrong = [&] {
    return fail(ErrorCode::Invalid,
                fmt::format("--until \"{}\": expected 'pod NAMESPACE/NAME', or 'pod "
                            "NAMESPACE/NAME ATTEMPT'",
                            text));
  };
  std::string_view rest = text;
  if (!rest.starts_with("pod ")) return wrong();
  rest.remove_prefix(4);
  Stop stop;
  const auto blank = rest.find(' ');
  stop.pod = rest.substr(0, blank);
  const auto slash = stop.pod.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == stop.pod.size()) return wrong();
  if (blank == std::string_view::npos) return stop;
  rest.remove_prefix(blank + 1);
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), stop.attempt);
  if (error != std::errc{} || end != rest.data() + rest.size() || stop.attempt < 1) return wrong();
  return stop;
}

// One replay, with what it prints.
class Replay {
 public:
  Replay(const ReplayOptions& options, Stop stop, std::string& out, std::string& errors)
      : options_(options), stop_(std::move(stop)), out_(out), errors_(errors) {}

  int run() {
    auto source = scheduler::recording::FileSource::open(options_.file);
    if (!source) return broken(source.error().message);
    auto settings = scheduler::readRecordingHeader((*source)->header());
    if (!settings) return broken(settings.error().message);
    warnOfVersion((*source)->header());
    const scheduler::Registry registry = scheduler::makeRegistry();
    if (auto prepared = prepareComparison(*settings, registry); !prepared)
      return broken(prepared.error().message);
    scheduler::ReplayedInstance replay(
        **source, *std::move(settings), registry,
        {[this](scheduler::Instance& instance, const scheduler::PodInfo& pod, int attempt) {
           onAttempt(instance, pod, attempt);
         },
         [this](scheduler::Instance&, const std::string& pod, const scheduler::Decision& decision) {
           onDecision(pod, decision);
         },
         [this](kube::Api& api, const scheduler::recording::Replayer& clock) -> kube::Api& {
           return comparison_ ? comparison_->attach(api, clock) : api;
         }});
    replay_ = &replay;
    auto outcome = replay.run();
    if (!outcome) return broken(outcome.error().message);
    if (comparison_ && !comparison_->problem().empty())
      return broken("--config: " + comparison_->problem());
    return report(*outcome);
  }

 private:
  int broken(const std::string& why) {
    errors_ += fmt::format("koordctl replay: {}\n", why);
    return kReplayBroken;
  }

  void warnOfVersion(const json::value& header) {
    const std::string version = scheduler::versionOfRecording(header);
    if (version == fmt::format("v{}", programVersion())) return;
    errors_ += fmt::format(
        "koordctl replay: the recording is of koord-scheduler {}, this is koordctl v{}: "
        "differences may come from that\n",
        version.empty() ? "of an unknown version" : version, programVersion());
  }

  // The second scheduler has the recorded settings, apart from the configuration.
  Result<> prepareComparison(scheduler::InstanceSettings settings,
                             const scheduler::Registry& registry) {
    if (options_.config.empty()) return {};
    const auto text = readFile(options_.config);
    if (!text) return fail(Error(text.error()).within("--config"));
    auto configuration = scheduler::parseConfiguration(*text);
    if (!configuration)
      return fail(std::move(configuration.error()).within("--config " + options_.config));
    scheduler::appendDefaultPreBind(*configuration);
    if (const auto errors = scheduler::validate(*configuration); !errors.empty())
      return fail(ErrorCode::Invalid,
                  fmt::format("--config {}: {}", options_.config, errors.front()));
    configuration->extenders.clear();
    settings.scheduler.configuration = *std::move(configuration);
    comparison_ = std::make_unique<Comparison>(std::move(settings), registry);
    return {};
  }

  void onAttempt(scheduler::Instance& instance, const scheduler::PodInfo& pod, int attempt) {
    if (comparison_ && !stopped_) comparison_->attempting(pod);
    if (stop_.pod.empty() || stopped_ || pod.key() != stop_.pod) return;
    if (stop_.attempt != 0 && stop_.attempt != attempt) return;
    stopped_ = true;
    attempt_ = attempt;
    replay_->stop();  // nothing that follows is compared or recorded
    const auto slash = stop_.pod.find('/');
    explanation_ = scheduler::explainPod(instance.scheduler(),
                                         {stop_.pod.substr(0, slash), stop_.pod.substr(slash + 1)});
  }

  void onDecision(const std::string& pod, const scheduler::Decision& decision) {
    if (stopped_) return;
    if (comparison_) comparison_->decided(pod, decision);
    if (!options_.decisions) return;
    out_ += fmt::format("{}  {}\n", formatMicroTime(decision.time),
                        scheduler::recording::toString(scheduler::textOf(pod, decision)));
  }

  int report(const Outcome& outcome) {
    if (stopped_) return reportExplanation(outcome);
    if (!options_.json) out_ += summary(outcome);
    int status = kReplaySame;
    if (outcome.kind == Outcome::Kind::Different) {
      out_ += fmt::format(
          "the first difference, in turn {} at {}:\n  recorded: {}\n  replayed: {}\n",
          outcome.turns, formatMicroTime(outcome.end), outcome.recorded, outcome.replayed);
      status = kReplayDiffers;
    } else {
      out_ += "the same decisions and requests, bit for bit\n";
    }
    if (comparison_ && status == kReplaySame)
      out_ += fmt::format("\nwith {}:\n{}{}", options_.config, comparison_->differences(),
                          comparison_->summary());
    if (const int fault = reportEnd(outcome); fault != kReplaySame) status = fault;
    if (!stop_.pod.empty() && status == kReplaySame)
      return broken(fmt::format("--until: the recording has no attempt {}to place pod {}",
                                stop_.attempt == 0 ? "" : fmt::format("{} ", stop_.attempt),
                                stop_.pod));
    return status;
  }

  static std::string summary(const Outcome& outcome) {
    const double seconds = std::chrono::duration<double>(outcome.end - outcome.begin).count();
    return fmt::format("{} turns and {} decisions in {:.1f} s, from {} to {}\n", outcome.turns,
                       outcome.decisions, seconds, formatMicroTime(outcome.begin),
                       formatMicroTime(outcome.end));
  }

  // How far the recording is good.
  int reportEnd(const Outcome& outcome) {
    switch (outcome.source) {
      case Reader::End::Complete:
        out_ += fmt::format("the recording is complete: {}\n", outcome.why);
        return kReplaySame;
      case Reader::End::Cut:
        out_ += "the recording stops there: koord-scheduler was killed, or still writes it\n";
        return kReplaySame;
      case Reader::End::Damaged:
        return broken(fmt::format("{}: the recording is good up to {}, {} decisions", outcome.why,
                                  formatMicroTime(outcome.end), outcome.decisions));
      case Reader::End::Open:
        break;
    }
    return kReplaySame;
  }

  int reportExplanation(const Outcome& outcome) {
    if (!explanation_) return broken(explanation_.error().message);
    if (options_.json) {
      out_ += toPrettyJson(*explanation_);
      return kReplaySame;
    }
    out_ += fmt::format("before attempt {} of pod {}, at {}, after {} decisions:\n\n{}", attempt_,
                        stop_.pod, formatMicroTime(outcome.end), outcome.decisions,
                        explanationText(*explanation_));
    const auto decision = replay_->replayer().decisionAfter(stop_.pod);
    out_ += decision ? fmt::format("\nthen: {}\n", scheduler::recording::toString(*decision))
                     : "\nthen: the recording has no decision about it\n";
    return kReplaySame;
  }

  const ReplayOptions& options_;
  const Stop stop_;
  std::string& out_;
  std::string& errors_;
  std::unique_ptr<Comparison> comparison_;
  scheduler::ReplayedInstance* replay_ = nullptr;
  bool stopped_ = false;
  int attempt_ = 0;
  Result<json::value> explanation_ = fail(ErrorCode::Internal, "no explanation");
};

}  // namespace

int runReplay(const ReplayOptions& options, std::string& out, std::string& errors) {
  auto stop = parseUntil(options.until);
  if (!stop) {
    errors += fmt::format("koordctl replay: {}\n", stop.error().message);
    return kReplayBroken;
  }
  return Replay(options, *std::move(stop), out, errors).run();
}

void addReplayCommand(flags::Commands& commands, ReplayOptions& options) {
  auto& command = commands.add("replay", "Run a recording of koord-scheduler again");
  command.arguments = "FILE";
  command.details =
      "FILE is what koord-scheduler --record wrote. Needs no cluster. The exit status is 1 if a\n"
      "decision or request differs, and 2 if the file is damaged; what is good is run first.";
  command.flags.text("until", options.until,
                     "Stop before the first attempt to place a pod and explain it: 'pod "
                     "NAMESPACE/NAME', or 'pod NAMESPACE/NAME ATTEMPT'");
  command.flags.text("config", options.config,
                     "KubeSchedulerConfiguration: shows what would have been decided with it, each "
                     "time in the recorded state");
  command.flags.boolean("decisions", options.decisions, "Print every decision");
  command.flags.boolean("json", options.json, "Print the explanation of --until as JSON");
  command.run = [&](const std::vector<std::string>& names) {
    if (names.size() != 1) return commands.refuse("one FILE", "replay");
    options.file = names.front();
    log::setup({.program = "koordctl", .file = "/dev/null"});
    std::string out, errors;
    const int status = runReplay(options, out, errors);
    std::fputs(out.c_str(), stdout);
    std::fflush(stdout);
    std::fputs(errors.c_str(), stderr);
    return status;
  };
}

}  // namespace koord::koordctl
