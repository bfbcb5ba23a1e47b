#pragma once

// The template: a copy of the process that forks a copy of itself for each of several questions, so
// that the scheduler's process pays one fork for all of them. It changes nothing that a question
// reads, so each copy has the memory of the same moment.
//
// It reports each copy's end to the pipe of its question, kills a copy whose reader has closed the
// pipe or whose time is over, and ends when all questions have ended. Its copies end with it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/oracle/child_side.h"

namespace koord::scheduler::oracle {

// How the end of a copy reads: the last bytes of its pipe. The copy may have ended within a text.
inline constexpr std::size_t kEndBytes = 12;
std::string endOf(int status);  // as waitpid returns it
// nullopt: the template itself has ended before.
std::optional<int> statusIn(std::string_view end);

// In the fork: answers works[i] on pipes[i], `atOnce` at a time, in their order. A work that has
// not begun after `limits.time` does not begin: its status is that of kNotBegun.
[[noreturn]] void runTemplate(const std::vector<int>& pipes, const ForkLimits& limits,
                              std::size_t atOnce, pid_t parent,
                              const std::vector<ChildWork>& works);

}  // namespace koord::scheduler::oracle
