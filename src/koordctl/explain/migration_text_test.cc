#include "koordctl/explain/migration_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace koord::koordctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string shown(std::string_view text) {
  return migrationText(*parseJson(text));
}

TEST(MigrationText, tells_from_where_to_where_why_and_how_far) {
  const std::string text = shown(R"({"job": {
    "metadata": {"name": "j", "annotations": {
      "koordinator.sh/evict-trigger": "LowNodeLoad", "koordinator.sh/evict-reason": "node is overutilized",
      "descheduler.koordinator.sh/from-node": "n1", "descheduler.koordinator.sh/planned-node": "n2",
      "descheduler.koordinator.sh/planned-by": "koord-scheduler"}},
    "spec": {"mode": "ReservationFirst", "ttl": "5m0s", "podRef": {"namespace": "shop", "name": "web-0"},
             "reservationOptions": {"reservationRef": {"name": "r"}}},
    "status": {"phase": "Running", "reason": "Evicting", "message": "Pod evicted", "nodeName": "n2",
               "conditions": [{"type": "ReservationCreated", "status": "True",
                               "lastTransitionTime": "2026-01-01T00:00:00Z"},
                              {"type": "Eviction", "status": "False", "reason": "Evicting"}]}},
    "reservation": {"status": {"phase": "Available"}},
    "events": [{"lastTimestamp": "2026-01-01T00:00:02Z", "reason": "B", "message": "then"},
               {"lastTimestamp": "2026-01-01T00:00:01Z", "reason": "A", "message": "first"}]})");
  for (const char* line :
       {"Migration  j\n", "State      Running, Evicting\n", "           Pod evicted\n",
        "Pod        shop/web-0, on node n1\n", "Because    LowNodeLoad: node is overutilized\n",
        "Planned    node n2, by koord-scheduler\n", "New pod    reserved on node n2\n",
        "Mode       ReservationFirst, within 5m0s\n", "Reserved   r, Available\n"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_LT(text.find("first"), text.find("then"));
  EXPECT_THAT(text, HasSubstr("Eviction"));
}

TEST(MigrationText, says_so_where_little_is_known) {
  const std::string text = shown(
      R"({"job": {"metadata": {"name": "j"}, "spec": {"podRef": {"namespace": "a", "name": "b"}}}})");
  EXPECT_THAT(text, HasSubstr("State      Pending\n"));
  EXPECT_THAT(text, HasSubstr("Because    created by a user\n"));
  EXPECT_THAT(text, HasSubstr("Planned    the new node is unknown\n"));
  EXPECT_THAT(text, Not(HasSubstr("Steps")));
  EXPECT_THAT(shown("[]"), HasSubstr("State"));
}

}  // namespace
}  // namespace koord::koordctl
