#include "koordctl/colocation/study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "koordctl/colocation/colocation_command.h"
#include "koordctl/colocation/study_report.h"

namespace koord::koordctl::colocation {
namespace {

using ::testing::HasSubstr;

// Invented outcomes: nothing runs.
StudyResult inventedStudy() {
  StudyResult study;
  study.options.seeds = 2;
  study.options.parameters.nodes = 10;
  study.options.parameters.cores = 10;
  for (const char* name : {"upstream", "<other>"}) {
    ArmResult& arm = study.arms.emplace_back(ArmResult{name, {}});
    for (const double cpu : {0.5, 0.7}) {
      Outcome outcome;
      outcome.cpuMean = study.arms.size() == 1 ? cpu : cpu + 0.1;
      outcome.usefulCoreHours = 600;
      outcome.wastedCoreHours = 200;
      outcome.moments = {{0, cpu, 0.2, 0.3, 1}, {3600, cpu, 0.2, 0.3, 2}};
      arm.bySeed.push_back(std::move(outcome));
    }
  }
  study.sweep.push_back({"noise", 0.4, study.arms});
  return study;
}

TEST(ColocationStudyTest, figures_are_in_percent_and_by_day) {
  StudyResult study = inventedStudy();
  study.options.days = 2;
  const auto value = [&](std::string_view name) {
    for (const Figure& figure : figures())
      if (figure.name == name) return valuesOf(study.options, study.arms.front(), figure).front();
    ADD_FAILURE() << name;
    return 0.0;
  };
  EXPECT_DOUBLE_EQ(value("cpuMeanPercent"), 50);
  EXPECT_DOUBLE_EQ(value("batchCoreHoursPerDay"), 300);
  EXPECT_DOUBLE_EQ(value("batchPercentOfCapacity"), 12.5) << "of 4,800 core hours";
  EXPECT_DOUBLE_EQ(value("wastedPercent"), 25);
}

TEST(ColocationStudyTest, the_report_has_means_intervals_and_paired_differences) {
  const auto json = parseJson(studyJson(inventedStudy()));
  ASSERT_TRUE(json);
  const auto& arms = at(*json, "arms")->get_array();
  ASSERT_EQ(arms.size(), 2U);
  const auto* cpu = at(arms[1], "figures", "cpuMeanPercent");
  EXPECT_DOUBLE_EQ(find(*cpu, "mean")->to_number<double>(), 70);
  EXPECT_NEAR(find(*cpu, "halfWidth")->to_number<double>(), 127.06, 0.01);
  EXPECT_NEAR(at(*cpu, "differenceTo", "upstream", "mean")->to_number<double>(), 10, 1e-9);
  EXPECT_NEAR(at(*cpu, "differenceTo", "upstream", "halfWidth")->to_number<double>(), 0, 1e-9);
  EXPECT_EQ(find(arms[0], "points")->get_array().size(), 2U);
  EXPECT_EQ(find(*json, "parameters")->get_array().size(), parameterTable().size());
  EXPECT_EQ(find(*json, "sweep")->get_array().size(), 1U);
}

TEST(ColocationStudyTest, the_page_has_plots_tables_and_the_source_of_each_parameter) {
  const std::string page = studyPage(inventedStudy());
  EXPECT_THAT(page, HasSubstr("<polyline"));
  EXPECT_THAT(page, HasSubstr("&lt;other&gt;"));
  EXPECT_THAT(page, ::testing::Not(HasSubstr("<other>")));
  for (const Parameter& parameter : parameterTable()) {
    EXPECT_THAT(page, HasSubstr(std::string(parameter.name)));
    EXPECT_FALSE(parameter.source.empty()) << parameter.name;
  }
}

TEST(ColocationStudyTest, the_text_shows_each_arm_and_each_changed_assumption) {
  const std::string text = studyText(inventedStudy());
  EXPECT_THAT(text, HasSubstr("60.0 +- 127.1"));
  EXPECT_THAT(text, HasSubstr("noise 0.4"));
  EXPECT_THAT(text, HasSubstr("(defaults)"));
  EXPECT_THAT(text, HasSubstr("60.0 / 70.0"));
}

TEST(ColocationStudyTest, every_arm_has_a_name_of_its_own) {
  std::vector<std::string> names;
  for (const auto& arms : {comparedArms(), ablationArms()})
    for (const Arm& arm : arms) names.push_back(arm.name);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  EXPECT_THAT(names, ::testing::Contains("upstream"));
}

TEST(ColocationStudyTest, a_wrong_parameter_is_an_error_that_names_the_flag) {
  std::string out, errors;
  EXPECT_EQ(runColocation({.folder = "unused", .set = {"nodes=none"}}, false, out, errors), 1);
  EXPECT_THAT(errors, HasSubstr("--colocation-set: nodes: \"none\" must be a whole number"));
  EXPECT_EQ(out, "");
}

TEST(ColocationStudyTest, a_folder_that_cannot_be_made_is_an_error) {
  std::string out, errors;
  EXPECT_EQ(runColocation({.folder = "/dev/null/report", .set = {}}, false, out, errors), 1);
  EXPECT_THAT(errors, HasSubstr("/dev/null/report"));
}

TEST(ColocationStudyTest, mechanisms_are_compared_with_the_profile_that_has_them_all) {
  StudyResult study = inventedStudy();
  EXPECT_THAT(studyText(study), ::testing::Not(HasSubstr("Differences to recommended")));
  for (const char* name : {"recommended", "third", "ablation"})
    study.arms.push_back({name, study.arms.front().bySeed});
  for (Outcome& outcome : study.arms.back().bySeed) outcome.cpuMean -= 0.05;
  const std::string text = studyText(study);
  const auto at = text.find("Differences to recommended, seed by seed");
  ASSERT_NE(at, text.npos);
  EXPECT_THAT(text.substr(at), HasSubstr("-5.0 "));
}

TEST(ColocationStudyTest, one_seed_has_no_interval) {
  StudyResult study = inventedStudy();
  study.sweep.clear();
  for (ArmResult& arm : study.arms) arm.bySeed.resize(1);
  EXPECT_THAT(studyPage(study), HasSubstr("<td>50.0</td>"));
}

}  // namespace
}  // namespace koord::koordctl::colocation
