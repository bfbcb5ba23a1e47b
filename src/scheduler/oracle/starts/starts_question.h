#pragma once

// The part `when` of a question: when do these start?
//
//   when:
//     pods: [team-a/train-0]
//     gangs: [team-a/big]
//     quotas: [team-a]     # the pods that wait in the quota
//     jobs: [...]          # Jobs as the API has them, for their completions and deadlines; the
//                          # scheduler reads none
//
// Errors are Invalid and name the field.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/json.h"
#include "base/result.h"

namespace koord::scheduler::oracle {

inline constexpr std::size_t kMaxStartTargets = 100;
inline constexpr std::size_t kMaxStartJobs = 20'000;

struct StartTarget {
  enum class Kind { Pod, Gang, Quota };
  Kind kind = Kind::Pod;
  std::string namespace_;  // "" of a quota
  std::string name;
};

struct KnownJob {
  std::int64_t parallelism = 1;
  std::optional<std::int64_t> completions;  // absent: ended pods are not replaced
  std::int64_t succeeded = 0;
  std::optional<WallTime> deadline;  // by its own activeDeadlineSeconds
  json::value podSpec;               // of its template
};

struct StartsQuestion {
  std::vector<StartTarget> targets;
  std::map<std::string, KnownJob> jobs;  // by uid
};

// when: the value of the field; null gives no question.
Result<std::optional<StartsQuestion>> readStarts(const json::value& when);

}  // namespace koord::scheduler::oracle
