#include "scheduler/oracle/shared_forks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace koord::scheduler::oracle {

using namespace std::chrono_literals;

namespace {

constexpr Duration kMaxWait = 4s;  // for a child that may run; the pace allows a fork sooner

}  // namespace

SharedForks::Meter SharedForks::realMeter() {
  return {[] { return SteadyTime(std::chrono::steady_clock::now()); }, workOfThisThread};
}

void SharedForks::add(Waiting question) {
  question.since = meter_.now();
  waiting_.push_back(std::move(question));
}

void SharedForks::dropLost() {
  const SteadyTime now = meter_.now();
  for (Waiting& question : std::exchange(waiting_, {})) {
    if (*question.cancelled) {
      question.started(fail(ErrorCode::Cancelled, "the client has gone"));
    } else if (now - question.since > kMaxWait) {
      question.started(fail(ErrorCode::TooManyRequests,
                            fmt::format("at most {} simulations run at once", atOnce_)));
    } else {
      waiting_.push_back(std::move(question));
    }
  }
}

void SharedForks::look() {
  dropLost();
  if (waiting_.empty() || *running_ >= atOnce_) return;
  if (pace_.allows(meter_.now(), meter_.work())) fork();
}

void SharedForks::fork() {
  const ForkLimits limits = waiting_.front().limits;
  std::deque<Waiting> questions;
  for (Waiting& question : std::exchange(waiting_, {}))
    (question.limits.time == limits.time ? questions : waiting_).push_back(std::move(question));
  const auto refuse = [&](const Error& error) {
    for (const Waiting& question : questions) question.started(fail(Error(error)));
  };
  const Askable subject = subject_();
  if (!subject.scheduler) return refuse({ErrorCode::Unavailable, subject.absent, {}});
  if (!subject.scheduler->configuration().extenders.empty())
    return refuse({ErrorCode::Unavailable,
                   "this scheduler uses HTTP extenders, which a simulation cannot ask",
                   {}});
  std::vector<AskedQuestion> asked;
  for (const Waiting& question : questions) asked.push_back(question.asked);
  const std::size_t children = std::min(asked.size(), atOnce_ - *running_);
  const SteadyTime before = meter_.now();
  auto answers = askAll(*subject.scheduler, *subject.seam, registry_, asked, children, limits,
                        subject.exists, subject.history);
  pace_.forked(before, meter_.now() - before, meter_.work());
  if (!answers) return refuse(answers.error());
  ++forks_;
  *running_ += children;
  const std::shared_ptr<void> place(
      nullptr, [running = running_, children](void*) { *running -= children; });
  for (std::size_t i = 0; i < questions.size(); ++i)
    questions[i].started(Started{std::move((*answers)[i]), place});
}

}  // namespace koord::scheduler::oracle
