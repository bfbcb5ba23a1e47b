// Lists of many objects, concurrent with other requests.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "apiserver/testing.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::ElementsAre;

class ListTest : public ServerTest {
 protected:
  static constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";

  Task<void> noted(std::string name, Call call) {
    auto serving = server->serve(std::move(call));
    const auto reply = co_await serving;
    EXPECT_EQ(reply.status, 200);
    order.push_back(std::move(name));
  }

  std::vector<std::string> order;
};

TEST_F(ListTest, whoAsksForOneObjectDoesNotWaitForATableOfAll) {
  for (int i = 0; i < 40; ++i)
    ASSERT_EQ(post(kMaps, fmt::format(R"({{"metadata":{{"name":"m{}"}},"data":{{"k":"{}"}}}})", i,
                                      std::string(100'000, 'x')))
                  .status,
              201);
  constexpr const char* kTable = "application/json;as=Table;v=v1;g=meta.k8s.io";
  constexpr const char* kMetadata =
      "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
  tasks.spawn(noted("table", routed("GET", kMaps, "", "", kTable)));
  tasks.spawn(noted("metadata", routed("GET", kMaps, "", "", kMetadata)));
  tasks.spawn(noted("one", routed("GET", std::string(kMaps) + "/m1", "", "", "")));
  loop.runReady();
  EXPECT_THAT(order, ElementsAre("one", "table", "metadata"));
  EXPECT_EQ(get(kMaps, kTable).body.at("rows").get_array().size(), 40u);
  EXPECT_EQ(get(kMaps, kMetadata).body.at("items").get_array().size(), 40u);
}

TEST_F(ListTest, ATablesRowsHaveTheMetadataWithoutManagedFields) {
  ASSERT_EQ(post(kMaps, R"({"metadata":{"name":"m","labels":{"a":"b"}}})").status, 201);
  const auto one = [&](const std::string& kind, const std::string& query, const char* list) {
    const auto reply =
        get(std::string(kMaps) + query, "application/json;as=" + kind + ";v=v1;g=meta.k8s.io");
    return reply.body.at(list).get_array().at(0);
  };
  const json::value row = one("Table", "", "rows").at("object");
  EXPECT_EQ(textAt(row, "kind"), "PartialObjectMetadata");
  EXPECT_EQ(textAt(row, "metadata", "labels", "a"), "b");
  EXPECT_EQ(at(row, "metadata", "managedFields"), nullptr);
  const json::value whole = one("Table", "?includeObject=Object", "rows").at("object");
  EXPECT_NE(at(whole, "metadata", "managedFields"), nullptr);
  const json::value metadata = one("PartialObjectMetadataList", "", "items");
  EXPECT_NE(at(metadata, "metadata", "managedFields"), nullptr);
  json::value expected = *at(metadata, "metadata");
  expected.get_object().erase("managedFields");
  EXPECT_EQ(*at(row, "metadata"), expected);
}

}  // namespace
}  // namespace koord::apiserver::testing
