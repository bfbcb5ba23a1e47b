#include "scheduler/oracle/oracle.h"

#include "base/log_silence.h"

namespace koord::scheduler::oracle {

namespace {

constexpr char kAnswer = 'A';
constexpr char kRefusal = 'R';

constexpr const char* kTooLong = "one search took too long: the rest was not tried";
constexpr int kOffers = 10;  // while its time lasts

std::string partOf(const Answerer& answerer, const std::string& why) {
  return kAnswer + toJson(answerer.sofar(why));
}

}  // namespace

Result<ForkedAnswer> ask(Scheduler& scheduler, Seam& seam, const Registry& registry,
                         const Question& question, const CompletePods& pods,
                         const ForkLimits& limits, const PodExists& exists,
                         const forecast::RunHistory* history) {
  auto answers =
      askAll(scheduler, seam, registry, {{&question, &pods}}, 1, limits, exists, history);
  if (!answers) return fail(std::move(answers.error()));
  return std::move(answers->front());
}

Result<std::vector<ForkedAnswer>> askAll(Scheduler& scheduler, Seam& seam, const Registry& registry,
                                         const std::vector<AskedQuestion>& asked,
                                         std::size_t atOnce, const ForkLimits& limits,
                                         const PodExists& exists,
                                         const forecast::RunHistory* history) {
  auto lock = seam.executor.hold();
  Answerer answerer({scheduler, seam.executor, seam.api, registry, exists, history});
  const auto child = [&](const ChildSide& side, const AskedQuestion& asks) {
    lock.unlock();
    log::silence();
    seam.executor.cut();
    // A search that takes longer than the grace costs what was found since the last offer.
    const Duration pause = limits.time / kOffers;
    answerer.checkpoint = [&, next = std::chrono::steady_clock::now() + pause]() mutable {
      if (side.isLate())
        ChildSide::finish(partOf(answerer, "the time limit was reached: the rest was not tried"));
      if (std::chrono::steady_clock::now() < next) return;
      ChildSide::offer(partOf(answerer, kTooLong));
      next = std::chrono::steady_clock::now() + pause;
    };
    answerer.isLate = [&side] { return side.isLate(); };
    answerer.interim = [](const json::value& found) { ChildSide::offer(kAnswer + toJson(found)); };
    const auto answer = answerer.answer(*asks.question, *asks.pods);
    ChildSide::finish(answer ? kAnswer + toJson(*answer) : kRefusal + answer.error().message);
  };
  const auto outOfMemory = [&] {
    ChildSide::finish(partOf(answerer, "the memory limit was reached: the rest was not tried"));
  };
  std::vector<ChildWork> works;
  for (const AskedQuestion& asks : asked)
    works.push_back({[&](const ChildSide& side) { child(side, asks); }, outOfMemory});
  return ForkedAnswer::startAll(limits, atOnce, works);
}

Result<std::string> answerOf(ForkedAnswer answer, const std::atomic<bool>& cancelled) {
  auto text = answer.wait(cancelled);
  if (!text) return text;
  if (text->starts_with(kRefusal)) return fail(ErrorCode::Invalid, text->substr(1));
  text->erase(0, 1);
  return text;
}

}  // namespace koord::scheduler::oracle
