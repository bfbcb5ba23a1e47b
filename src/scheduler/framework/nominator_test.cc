#include "scheduler/framework/nominator.h"

#include <gtest/gtest.h>

#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using testing::aPod;
using testing::World;

struct Nominated {
  World world;
  PodPtr pod = world.pod(aPod("p"));

  // A nomination of ours, which its object does not show yet.
  void nominate(const std::string& node) { world.nominator().add(pod, {true, node}); }
  // The object shows this node now. Returns the node for which the pod is nominated.
  std::string shows(const std::string& node) {
    const PodPtr after = world.pod(aPod("p").nominated(node));
    world.nominator().update(std::exchange(pod, after), after);
    return world.nominator().nodeOf(pod->uid());
  }
};

TEST(Nominator, what_the_object_shows_counts) {
  Nominated f;
  EXPECT_EQ(f.shows("n1"), "n1");
  EXPECT_EQ(f.shows("n2"), "n2");
  EXPECT_EQ(f.shows(""), "");
}

TEST(Nominator, a_nomination_that_the_object_does_not_show_yet_is_kept) {
  Nominated f;
  f.nominate("n1");
  EXPECT_EQ(f.shows(""), "n1");
  EXPECT_EQ(f.shows("n1"), "n1");
  EXPECT_EQ(f.shows(""), "") << "it has ended";
}

TEST(Nominator, an_earlier_write_that_shows_late_does_not_end_a_nomination) {
  Nominated f;
  EXPECT_EQ(f.shows("n1"), "n1");
  f.nominate("");
  f.nominate("n2");
  EXPECT_EQ(f.shows(""), "n2") << "the end of the first";
  EXPECT_EQ(f.shows("n2"), "n2");
}

}  // namespace
}  // namespace koord::scheduler
