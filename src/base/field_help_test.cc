#include "base/field_help.h"

#include <gmock/gmock.h>

namespace koord {
namespace {

using testing::ElementsAre;

// A reader as plugins have them.
void readSample(Fields fields) {
  fields.integer("seconds", 180, 1, 1000);
  fields.texts("names");
  for (Fields& item : fields.list("pools")) {
    item.boolean("paused", false);
    item.refuseUnknown();
  }
  for (auto& [key, limit] : fields.objects("limits")) limit.duration("duration", {});
  if (fields.has("window")) fields.object("window").text("type", "avg");
  fields.refuseUnknown();
}

std::vector<FieldNote> sampleFields() {
  FieldLog log;
  std::vector<std::string> errors;
  readSample(Fields(log, "", errors));
  return log.notes();
}

TEST(FieldHelpTest, AReaderDescribesEveryFieldThatItAsksFor) {
  std::vector<std::string> paths;
  for (const FieldNote& field : sampleFields()) paths.push_back(field.path + " " + field.type);
  EXPECT_THAT(paths,
              ElementsAre("seconds integer", "names list of strings", "pools list of objects",
                          "pools[].paused boolean", "limits map of objects",
                          "limits.*.duration duration", "window object", "window.type string"));
}

TEST(FieldHelpTest, ANumberHasItsDefaultAndItsRange) {
  const FieldNote seconds = sampleFields().front();
  EXPECT_EQ(seconds.absent, "180");
  EXPECT_EQ(seconds.low, 1);
  EXPECT_EQ(seconds.high, 1000);
}

TEST(FieldHelpTest, AFieldWithoutHelpAndHelpWithoutAFieldAreNamed) {
  static constexpr FieldHelp kHelp[] = {{"seconds", "How long."}, {"minutes", "How long."}};
  const ObjectHelp object{
      "Sample", "SampleArgs", "v1", {sampleFields().front(), {"names", "", "", {}, {}}}, kHelp};
  EXPECT_THAT(missingHelp(object), ElementsAre("Sample.names: has no help",
                                               "Sample.minutes: no code reads this argument"));
}

TEST(FieldHelpTest, ReadingADocumentDescribesNothingAndFindsItsErrors) {
  const json::value document = json::object{{"seconds", 0}, {"other", 1}};
  std::vector<std::string> errors;
  readSample(Fields(&document, "args", errors));
  EXPECT_THAT(errors, ElementsAre("args.seconds: Invalid value: 0: not in valid range [1-1000]",
                                  "args.other: unknown field"));
}

}  // namespace
}  // namespace koord
