#include "scheduler/plugins/arguments.h"

#include <gmock/gmock.h>

namespace koord::scheduler {
namespace {

TEST(PluginArgumentsTest, EveryArgumentOfEveryPluginIsExplained) {
  for (const ObjectHelp& object : describeArguments())
    EXPECT_THAT(missingHelp(object), testing::IsEmpty());
}

}  // namespace
}  // namespace koord::scheduler
