#pragma once

// Asks what would happen: forks an exact copy of the process, in which the scheduler itself plays
// the changes through on virtual time (course.h), and returns the copy's answer. On an unchanged
// state the answer comes true, because the same code runs on the same memory: caches, queue and
// random numbers included. The scheduler of this process is not touched and continues at once.
//
// Cost here: the fork, which grows with the memory of the process, and later a page fault for each
// page that is written again; while the child lives, also a copy of the page. A huge page that is
// written then breaks into small ones: after some simulations hardly one is left, so the next forks
// and faults cost more. shared_forks.h makes one fork do for several questions.

#include "scheduler/oracle/answer.h"
#include "scheduler/oracle/forked.h"

namespace koord::scheduler::oracle {

// Between two turns of the scheduler, on its thread. When the time is over, the child answers with
// what it has. It looks at the clock between two attempts, and offers what it has ten times while
// its time lasts: if an attempt takes longer than the grace, the last offer is the answer.
// `exists`: for pods that are not pending; called in the child. `history`: for starts.
Result<ForkedAnswer> ask(Scheduler& scheduler, Seam& seam, const Registry& registry,
                         const Question& question, const CompletePods& pods,
                         const ForkLimits& limits = {}, const PodExists& exists = {},
                         const forecast::RunHistory* history = nullptr);

struct AskedQuestion {
  const Question* question;
  const CompletePods* pods;
};
// The same for several questions with one fork, each on a copy of its own, `atOnce` at a time.
Result<std::vector<ForkedAnswer>> askAll(Scheduler& scheduler, Seam& seam, const Registry& registry,
                                         const std::vector<AskedQuestion>& asked,
                                         std::size_t atOnce, const ForkLimits& limits = {},
                                         const PodExists& exists = {},
                                         const forecast::RunHistory* history = nullptr);

// Waits for the answer, a SimulationResult as JSON. On any thread. Invalid: the question cannot be
// asked; the message names the field. Other errors are those of ForkedAnswer::wait.
Result<std::string> answerOf(ForkedAnswer answer, const std::atomic<bool>& cancelled);

}  // namespace koord::scheduler::oracle
