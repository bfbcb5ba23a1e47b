#include "descheduler/framework/journal.h"

#include "base/time.h"

namespace koord::descheduler {

void Journal::add(Decision decision) {
  if (decisions_.size() == kKept) decisions_.pop_front();
  decisions_.push_back(std::move(decision));
}

json::value Journal::document() const {
  json::array list;
  for (const Decision& decision : decisions_) {
    list.push_back(json::object{{"time", formatTime(decision.at)},
                                {"cycle", decision.cycle},
                                {"namespace", decision.namespace_},
                                {"pod", decision.pod},
                                {"from", decision.node},
                                {"to", decision.landing},
                                {"profile", decision.profile},
                                {"plugin", decision.plugin},
                                {"reason", decision.reason},
                                {"outcome", decision.outcome},
                                {"job", decision.job}});
  }
  return json::object{{"evictions", std::move(list)}};
}

}  // namespace koord::descheduler
