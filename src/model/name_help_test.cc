#include "model/name_help.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/quantity.h"
#include "model/extended_resource_spec.h"
#include "model/gpu_isolation.h"
#include "model/node_names.h"
#include "model/node_reservation.h"
#include "model/priority.h"
#include "model/qos.h"
#include "model/slo_config.h"
#include "model/well_known.h"

namespace koord::model {
namespace {

std::map<std::string, const NameHelp*, std::less<>> allNames() {
  std::map<std::string, const NameHelp*, std::less<>> all;
  for (const NameGroup& group : nameGroups())
    for (const NameHelp& one : group.names) all.emplace(one.name, &one);
  return all;
}

std::string exampleOf(std::string_view name) {
  const auto all = allNames();
  const auto found = all.find(name);
  EXPECT_NE(found, all.end()) << name;
  return found == all.end() ? std::string() : std::string(found->second->example);
}

TEST(NameHelp, EveryNameIsExplainedOnce) {
  static const std::set<std::string_view> kKinds{
      "label",       "annotation", "resource", "label or annotation", "resource or annotation",
      "provisioner", "finalizer"};
  std::set<std::string_view> seen;
  for (const NameGroup& group : nameGroups()) {
    EXPECT_FALSE(group.names.empty()) << group.title;
    for (const NameHelp& one : group.names) {
      EXPECT_TRUE(seen.insert(one.name).second) << one.name << " is there twice";
      EXPECT_TRUE(kKinds.contains(one.kind)) << one.name << ": " << one.kind;
      for (const std::string_view text : {one.on, one.writer, one.format, one.meaning, one.example})
        EXPECT_FALSE(text.empty()) << one.name;
      EXPECT_TRUE(one.meaning.ends_with('.')) << one.name << ": " << one.meaning;
    }
  }
}

TEST(NameHelp, ExamplesHaveTheFormatThatIsNamed) {
  for (const auto& [name, one] : allNames()) {
    if (one->format.starts_with("JSON")) {
      const auto document = parseJson(one->example);
      ASSERT_TRUE(document) << name << ": " << document.error().message;
      EXPECT_EQ(document->is_array(), one->format == "JSON list") << name;
      EXPECT_EQ(document->is_object(), one->format == "JSON object") << name;
    } else if (one->format == "quantity") {
      EXPECT_TRUE(Quantity::parse(std::string(one->example))) << name;
    } else if (one->format == "integer") {
      EXPECT_EQ(one->example.find_first_not_of("-0123456789"), std::string_view::npos) << name;
    }
  }
}

TEST(NameHelp, ReadersTakeTheExamplesOfPods) {
  EXPECT_NE(parseQos(exampleOf(kLabelQos)), Qos::None);
  EXPECT_NE(parsePriorityClass(exampleOf(kLabelPriorityClass)), PriorityClass::None);
  const auto priority =
      subPriority({{std::string(kLabelSubPriority), exampleOf(kLabelSubPriority)}});
  ASSERT_TRUE(priority);
  EXPECT_NE(*priority, 0);
  const auto spec = readExtendedResourceSpec(
      {{std::string(kAnnotationExtendedResourceSpec), exampleOf(kAnnotationExtendedResourceSpec)}});
  ASSERT_TRUE(spec);
  ASSERT_TRUE(*spec);
  EXPECT_FALSE((*spec)->containers.empty());
  EXPECT_EQ(gpuIsolationProvider(
                {{std::string(kLabelGpuIsolationProvider), exampleOf(kLabelGpuIsolationProvider)}}),
            kHamiCore);
}

TEST(NameHelp, ReadersTakeTheExamplesOfNodes) {
  const api::StringMap reserved{
      {std::string(kAnnotationNodeReservation), exampleOf(kAnnotationNodeReservation)}};
  EXPECT_TRUE(problemsOfReservation(reserved).empty());
  EXPECT_FALSE(reservedResources(reserved).empty());

  api::ObjectMeta node;
  node.annotations[std::string(kAnnotationColocationStrategy)] =
      exampleOf(kAnnotationColocationStrategy);
  std::vector<std::string> problems;
  const ColocationConfig config;
  EXPECT_EQ(config.strategyOf(node, &problems).enable, true);
  EXPECT_TRUE(problems.empty());
  node.labels[std::string(kLabelMemoryReclaimRatio)] = exampleOf(kLabelMemoryReclaimRatio);
  EXPECT_EQ(config.strategyOf(node, &problems).memoryReclaimThresholdPercent, 65);

  node.annotations[std::string(kAnnotationNetworkBandwidth)] =
      exampleOf(kAnnotationNetworkBandwidth);
  std::string problem;
  (void)NodeSloConfig().specOf(node, api::NodeSLOSpec{}, &problem);
  EXPECT_EQ(problem, "");
}

}  // namespace
}  // namespace koord::model
