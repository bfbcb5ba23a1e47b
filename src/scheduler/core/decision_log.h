#pragma once

// DecisionLog: the last attempts of the most recently tried pods, with their results and reasons.
// Bounded in pods and in attempts per pod. Answers "why is this pod pending".

#include <list>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/executor.h"
#include "scheduler/framework/diagnosis.h"

namespace koord::scheduler {

struct Decision {
  WallTime time{};
  int attempt = 0;
  std::string result;   // "scheduled", "unschedulable", "error"
  std::string node;     // selected or nominated
  std::string message;  // as in the event
  std::string profile;
  std::size_t evaluatedNodes = 0;
  std::size_t feasibleNodes = 0;
  Duration duration{};
  std::vector<Diagnosis::Entry> rejections;
};

class DecisionLog {
 public:
  static constexpr std::size_t kPods = 4096;
  static constexpr std::size_t kAttempts = 8;

  void record(const std::string& podKey, Decision decision);
  void forget(const std::string& podKey);
  // Oldest first; nullptr for an unknown pod.
  const std::vector<Decision>* of(const std::string& podKey) const;

 private:
  struct Entry {
    std::vector<Decision> decisions;
    std::list<const std::string*>::iterator order;
  };
  std::unordered_map<std::string, Entry> pods_;
  std::list<const std::string*> order_;  // keys of pods_, most recent first
};

}  // namespace koord::scheduler
