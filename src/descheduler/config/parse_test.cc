#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/yaml.h"
#include "descheduler/config/types.h"

namespace koord::descheduler {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kHeader =
    "apiVersion: descheduler/v1alpha2\nkind: DeschedulerConfiguration\n";

DeschedulerConfiguration read(const std::string& text) {
  std::vector<std::string> errors;
  auto configuration = readConfiguration(kHeader + text, errors);
  EXPECT_THAT(errors, IsEmpty()) << text;
  return configuration;
}

std::string problemsOf(const std::string& text) {
  std::vector<std::string> errors;
  (void)readConfiguration(kHeader + text, errors);
  return fmt::format("{}", fmt::join(errors, "\n"));
}

std::vector<std::string> namesAt(const std::string& point, const std::string& sets) {
  const auto configuration = read("profiles: [{plugins: {" + point + ": " + sets + "}}]\n");
  std::vector<std::string> names;
  for (const auto& plugin : configuration.profiles.at(0).at(point)) names.push_back(plugin.name);
  return names;
}

TEST(DeschedulerConfigTest, anEmptyDocumentHasUpstreamsDefaults) {
  const auto c = read("");
  EXPECT_TRUE(c.leaderElection.leaderElect);
  EXPECT_EQ(c.leaderElection.leaseDuration, 15s);
  EXPECT_EQ(c.leaderElection.renewDeadline, 10s);
  EXPECT_EQ(c.leaderElection.retryPeriod, 2s);
  EXPECT_EQ(c.leaderElection.resourceName, "koord-descheduler");
  EXPECT_EQ(c.leaderElection.resourceNamespace, "koordinator-system");
  EXPECT_EQ(c.qps, 50);
  EXPECT_EQ(c.burst, 100);
  EXPECT_EQ(c.contentType, "application/vnd.kubernetes.protobuf");
  EXPECT_EQ(c.acceptContentTypes, "application/vnd.kubernetes.protobuf,application/json");
  EXPECT_TRUE(c.enableProfiling && c.enableContentionProfiling);
  EXPECT_EQ(c.healthzBindAddress, "0.0.0.0:10251");
  EXPECT_EQ(c.metricsBindAddress, "0.0.0.0:10251");
  EXPECT_EQ(c.interval, 0s);
  EXPECT_FALSE(c.dryRun || c.maxPerNode || c.maxPerNamespace || c.maxTotal);
  ASSERT_EQ(c.profiles.size(), 1U);
  EXPECT_EQ(c.profiles[0].name, "koord-descheduler");
  EXPECT_THAT(namesAt("evict", "{}"), ElementsAre("MigrationController"));
  EXPECT_THAT(namesAt("filter", "{}"), ElementsAre("MigrationController"));
  EXPECT_THAT(namesAt("deschedule", "{}"), IsEmpty());
  EXPECT_THAT(namesAt("balance", "{}"), IsEmpty());
}

TEST(DeschedulerConfigTest, aProfilesSetsAreMergedWithTheDefaults) {
  EXPECT_THAT(namesAt("filter", "{disabled: [{name: '*'}]}"), IsEmpty());
  EXPECT_THAT(namesAt("filter", "{enabled: [{name: DefaultEvictor}]}"),
              ElementsAre("MigrationController", "DefaultEvictor"));
  EXPECT_THAT(namesAt("filter", "{enabled: [{name: DefaultEvictor}, {name: MigrationController}]}"),
              ElementsAre("MigrationController", "DefaultEvictor"))
      << "a default that is named again keeps its place";
  EXPECT_THAT(namesAt("filter",
                      "{disabled: [{name: MigrationController}, {name: DefaultEvictor}], "
                      "enabled: [{name: DefaultEvictor}]}"),
              ElementsAre("DefaultEvictor"))
      << "what is disabled are defaults only";
  EXPECT_THAT(namesAt("balance", "{enabled: [{name: B}, {name: A}, {name: B}]}"),
              ElementsAre("B", "A", "B"));
}

TEST(DeschedulerConfigTest, bindAddressesAreCompleted) {
  const auto addressOf = [](const std::string& text) {
    return read("healthzBindAddress: '" + text + "'\n").healthzBindAddress;
  };
  EXPECT_EQ(addressOf(":8080"), "0.0.0.0:8080");
  EXPECT_EQ(addressOf("10.0.0.1"), "10.0.0.1:10251");
  EXPECT_EQ(addressOf("::1"), "[::1]:10251");
  EXPECT_EQ(addressOf("0.0.0.0:0"), "0.0.0.0:0");
}

TEST(DeschedulerConfigTest, whatIsWrongIsToldByItsPath) {
  const std::pair<const char*, const char*> cases[] = {
      {"foo: 1", "foo: unknown field"},
      {"profiles: [{name: a, foo: 1}]", "profiles[0].foo: unknown field"},
      {"profiles: [{plugins: {sort: {}}}]", "profiles[0].plugins.sort: unknown field"},
      {"profiles: [{plugins: {evict: {enabled: [{}]}}}]",
       "profiles[0].plugins.evict.enabled[0].name: Required value"},
      {"clientConnection: {burst: -1}",
       "clientConnection.burst: Invalid value: -1: must be non-negative"},
      {"deschedulingInterval: -1s",
       "deschedulingInterval: must not be negative; 0 means one cycle"},
      {"deschedulingInterval: soon",
       "deschedulingInterval: expected a duration such as 15s, got \"soon\""},
      {"maxNoOfPodsToEvictTotal: -1",
       "maxNoOfPodsToEvictTotal: Invalid value: -1: not in valid range [0-4294967295]"},
      {"leaderElection: {leaseDuration: 5s}",
       "leaderElection.leaseDuration: Invalid value: \"10s\": must be greater than "
       "`RenewDeadline`"},
      {"leaderElection: {resourceLock: configmaps}",
       "leaderElection.resourceLock: Invalid value: \"configmaps\": resourceLock value must be "
       "\"leases\""},
      {"healthzBindAddress: '0'",
       "healthzBindAddress: Invalid value: \"0\": must be HOST:PORT, as 0.0.0.0:10251; 0.0.0.0:0 "
       "serves nothing"},
      {"profiles: [{name: a}, {name: a}]", "profiles[1].name: Duplicate value: \"a\""},
      {"profiles: [{name: a}, {}]", "profiles[1].name: Required value"},
      {"profiles: [{pluginConfig: [{name: A}, {name: A}]}]",
       "profiles[0].pluginConfig[1].name: Duplicate value: \"A\""},
      {"profiles: [{pluginConfig: [{name: LowNodeLoad, args: {kind: Foo}}]}]",
       "profiles[0].pluginConfig[0].args.kind: args for plugin LowNodeLoad were not of type "
       "LowNodeLoadArgs, got Foo"},
  };
  for (const auto& [text, problem] : cases)
    EXPECT_EQ(problemsOf(std::string(text) + "\n"), problem) << text;
}

TEST(DeschedulerConfigTest, withoutElectionItsTimesDoNotMatter) {
  EXPECT_EQ(problemsOf("leaderElection: {leaderElect: false, leaseDuration: 5s}\n"), "");
}

TEST(DeschedulerConfigTest, anotherKindOfDocumentIsRefused) {
  std::vector<std::string> errors;
  (void)readConfiguration("apiVersion: v1\nkind: Pod\n", errors);
  EXPECT_THAT(errors, ElementsAre("apiVersion: couldn't decode as DeschedulerConfiguration, got "
                                  "v1, Kind=Pod; must be descheduler/v1alpha2, "
                                  "Kind=DeschedulerConfiguration"));
  errors.clear();
  (void)readConfiguration(std::string(kHeader) + "---\n" + kHeader, errors);
  EXPECT_THAT(errors,
              ElementsAre("<document>: there are several; a configuration is one document"));
}

TEST(DeschedulerConfigTest, whatIsWrittenReadsTheSame) {
  const auto first = read(
      "deschedulingInterval: 1m\ndryRun: true\nmaxNoOfPodsToEvictPerNode: 3\nclientConnection: "
      "{qps: 2.5}\nnodeSelector: {matchLabels: {a: b}}\nprofiles:\n- name: p\n  plugins: {balance: "
      "{enabled: [{name: Some}]}, evict: {disabled: [{name: '*'}], enabled: [{name: Other}]}}\n");
  const std::string text = writeConfiguration(first);
  std::vector<std::string> errors;
  EXPECT_EQ(writeConfiguration(readConfiguration(text, errors)), text);
  EXPECT_THAT(errors, IsEmpty());
}

}  // namespace
}  // namespace koord::descheduler
