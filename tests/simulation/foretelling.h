#pragma once

// Foretelling: what a scheduler's oracle says about a new pod on an unchanged state must come true.
//
// When a pod appears in the store, and the leader has not received it yet, the leader's oracle is
// asked about it (scheduler/oracle/oracle.h). If the leader then receives nothing else and tries no
// other pod before it tries this pod, its decision must be as foretold: the node, no node, or the
// node whose pods are preempted. A pod of a group is tried several times in one decision; the
// outcome counts.

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/virtual_loop.h"
#include "simulation/journal.h"

namespace koord::simulation {

// The oracle's answer about one pod.
struct Foretold {
  std::uint64_t received = 0;  // events and answers that the process had received
  std::string node;            // where its first attempt places it; "" = nowhere
  std::string nominated;       // where pods leave for it; "" = nowhere
};

// What has become of a pod.
struct Happened {
  bool undecided = false;
  std::string node;       // its own; "" = none
  std::string nominated;  // where pods leave for it; "" = nowhere
};

class Foretelling {
 public:
  // Of the new pods that the leader is asked about. An answer costs a fork.
  static inline double share = 0.5;

  // nullopt: the process has ended, or does not know the pod.
  using Look =
      std::function<std::optional<Happened>(const std::string& process, const std::string& uid)>;
  Foretelling(VirtualLoop& loop, Journal& journal, Look look)
      : loop_(loop), journal_(journal), look_(std::move(look)) {}

  void told(const std::string& process, const std::string& uid, Foretold foretold);
  // A process tries a pod, and had received so much.
  void tried(const std::string& process, const std::string& uid, std::uint64_t received);

  std::size_t compared() const { return compared_; }

 private:
  struct Open {
    std::string process;
    std::string uid;
    Foretold foretold;
    SteadyTime since{};
  };
  void compare(const Open& open);

  VirtualLoop& loop_;
  Journal& journal_;
  const Look look_;
  std::map<std::string, Open> open_;  // by uid
  std::size_t compared_ = 0;
};

}  // namespace koord::simulation
