#include "descheduler/app/arguments.h"

#include <gmock/gmock.h>

namespace koord::descheduler {
namespace {

TEST(PluginArgumentsTest, EveryArgumentOfEveryDeschedulerPluginIsExplained) {
  for (const ObjectHelp& object : describeArguments())
    EXPECT_THAT(missingHelp(object), testing::IsEmpty());
}

}  // namespace
}  // namespace koord::descheduler
