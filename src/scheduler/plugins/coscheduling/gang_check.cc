#include "scheduler/plugins/coscheduling/gang_check.h"

#include <algorithm>

#include "base/log.h"
#include "scheduler/framework/observer.h"

namespace koord::scheduler {

namespace {

constexpr Duration kPeriod = std::chrono::seconds(1);
constexpr std::size_t kGangsPerPeriod = 4;
constexpr std::size_t kNodesPerPeriod = 4;

}  // namespace

GangCheck& gangCheckOf(Handle& handle, Gangs& gangs) {
  return handle.shared().of<GangCheck>([&] { return std::make_unique<GangCheck>(handle, gangs); });
}

GangCheck::GangCheck(Handle& handle, Gangs& gangs)
    : handle_(handle), executor_(handle.executor()), gangs_(gangs) {
  timer_ = executor_.runAfter(kPeriod, [this] { check(); });
}

GangCheck::~GangCheck() {
  executor_.cancel(timer_);
}

void GangCheck::check() {
  checkGangs();
  checkNodes();
  timer_ = executor_.runAfter(kPeriod, [this] { check(); });
}

// Checks the next few gangs by name. A walk over all gangs finds them, so no sorted list has to be
// maintained.
void GangCheck::checkGangs() {
  std::vector<std::string> due;
  for (int round = 0; round < 2 && due.size() < kGangsPerPeriod; ++round) {
    for (const auto& [id, gang] : gangs_.all())
      if (round == 0 ? id > nextGang_ : id <= nextGang_) due.push_back(id);
    const std::size_t some = std::min(due.size(), kGangsPerPeriod);
    std::ranges::partial_sort(due, due.begin() + static_cast<std::ptrdiff_t>(some));
    due.resize(some);
    if (!due.empty()) break;
  }
  for (const std::string& id : due) {
    if (const std::string difference = gangs_.verify(id); !difference.empty())
      tell("gang " + id, difference);
    nextGang_ = id;
  }
}

void GangCheck::checkNodes() {
  const Cluster& cluster = handle_.cluster();
  for (std::size_t n = 0; n < std::min(kNodesPerPeriod, cluster.capacity()); ++n) {
    if (nextNode_ >= cluster.capacity()) nextNode_ = 0;
    const NodeId node = nextNode_++;
    for (const PodPtr& pod : cluster.node(node).pods) {
      // A deleted pod stays on its node until its binding has ended.
      const auto* record = cluster.findPod(pod->uid());
      if (!record || record->assumed) continue;
      if (const std::string difference = gangs_.verify(pod); !difference.empty())
        tell("node " + cluster.node(node).name, difference);
    }
  }
}

void GangCheck::tell(const std::string& about, const std::string& difference) {
  log::error("{}: the state of gangs differs from the pods: {}", about, difference);
  if (Observer* observer = handle_.observer()) observer->drifted("gangs");
}

}  // namespace koord::scheduler
