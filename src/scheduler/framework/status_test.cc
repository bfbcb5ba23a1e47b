#include "scheduler/framework/status.h"

#include <gmock/gmock.h>

namespace koord::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Status, says_its_code_reasons_and_message) {
  struct Row {
    Status status;
    Code code;
    bool ok, skipped, rejected;
    std::vector<std::string> reasons;
    std::string message;
  };
  const std::vector<Row> rows{
      {Status(), Code::Success, true, false, false, {}, ""},
      {Status::skip(), Code::Skip, false, true, false, {}, ""},
      {Status(Code::Wait), Code::Wait, false, false, false, {}, ""},
      {Status(Code::Unschedulable), Code::Unschedulable, false, false, true, {}, ""},
      {Status::unschedulable("full"), Code::Unschedulable, false, false, true, {"full"}, "full"},
      {Status::unresolvable("tainted"),
       Code::UnschedulableAndUnresolvable,
       false,
       false,
       true,
       {"tainted"},
       "tainted"},
      {Status::pending("later"), Code::Pending, false, false, true, {"later"}, "later"},
      {Status::error("broken"), Code::Error, false, false, false, {"broken"}, "broken"},
      {Status::error(""), Code::Error, false, false, false, {""}, ""},
      {{Code::Unschedulable, {"no CPUs", "no memory"}, "Fit"},
       Code::Unschedulable,
       false,
       false,
       true,
       {"no CPUs", "no memory"},
       "no CPUs, no memory"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.message + std::string(nameOf(row.code)));
    EXPECT_EQ(row.status.code, row.code);
    EXPECT_EQ(row.status.ok(), row.ok);
    EXPECT_EQ(row.status.skipped(), row.skipped);
    EXPECT_EQ(row.status.rejected(), row.rejected);
    EXPECT_EQ(row.status.reasons(), row.reasons);
    EXPECT_EQ(row.status.message(), row.message);
  }
}

TEST(Status, a_copy_has_words_of_its_own) {
  Status first(Code::Unschedulable, {"full"}, "Fit");
  Status copy = first;
  first.setReasons({"fuller"});
  first.setPlugin("Quota");
  EXPECT_THAT(copy.reasons(), ElementsAre("full"));
  EXPECT_EQ(copy.plugin(), "Fit");
  copy = first;
  EXPECT_THAT(copy.takeReasons(), ElementsAre("fuller"));
  EXPECT_THAT(copy.reasons(), IsEmpty());
  EXPECT_EQ(copy.plugin(), "Quota");
  EXPECT_THAT(first.reasons(), ElementsAre("fuller"));
}

TEST(Status, one_without_words_can_be_given_some) {
  Status status = Status::skip();
  EXPECT_EQ(status.plugin(), "");
  EXPECT_THAT(status.takeReasons(), IsEmpty());
  status.setPlugin("Fit");
  EXPECT_EQ(status.plugin(), "Fit");
  EXPECT_THAT(status.reasons(), IsEmpty());
}

}  // namespace
}  // namespace koord::scheduler
