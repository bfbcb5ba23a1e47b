#include "simulation/foretelling.h"

namespace koord::simulation {

using namespace std::chrono_literals;

namespace {

// Loads and reports of nodes age: the state of much later is another one.
constexpr Duration kSameTime = 500ms;
// Preemption asks the API server, which may take its time.
constexpr Duration kLongestDecision = 5s;

}  // namespace

void Foretelling::told(const std::string& process, const std::string& uid, Foretold foretold) {
  journal_.note("{} foretells node \"{}\" for {}, nominated for \"{}\"", process, foretold.node,
                uid, foretold.nominated);
  open_[uid] = {process, uid, std::move(foretold), journal_.clock().steadyNow()};
}

// Whatever else was foretold for this process was foretold on a state before this attempt.
void Foretelling::tried(const std::string& process, const std::string& uid,
                        std::uint64_t received) {
  const SteadyTime now = loop_.steadyNow();
  const auto found = open_.find(uid);
  if (found != open_.end() && found->second.process == process &&
      received == found->second.foretold.received + 1 &&  // the pod itself
      now - found->second.since < kSameTime) {
    Open open = found->second;
    open.since = now;
    loop_.post([this, open] { compare(open); });
  }
  std::erase_if(open_, [&](const auto& entry) { return entry.second.process == process; });
}

void Foretelling::compare(const Open& open) {
  const auto happened = look_(open.process, open.uid);
  if (!happened) return;
  if (happened->undecided) {
    if (loop_.steadyNow() - open.since < kLongestDecision)
      loop_.runAfter(1ms, [this, open] { compare(open); });
    return;
  }
  ++compared_;
  const Foretold& foretold = open.foretold;
  // A nomination comes first, and its pod gets a node later.
  const std::string node = foretold.nominated.empty() ? foretold.node : "";
  if (happened->node != node || happened->nominated != foretold.nominated)
    journal_.violated("what is foretold happens",
                      "{}: node \"{}\" and nomination for \"{}\" were foretold; it has \"{}\" and "
                      "\"{}\"",
                      open.uid, node, foretold.nominated, happened->node, happened->nominated);
}

}  // namespace koord::simulation
