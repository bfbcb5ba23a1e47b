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

// The API leaves it to the server whether it supports `limit`.
TEST_F(ListTest, ATableIsNotCutIntoThePagesOfKubectlUnlessItIsHuge) {
  constexpr const char* kTable = "application/json;as=Table;v=v1;g=meta.k8s.io";
  constexpr const char* kMetadata =
      "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
  auto& table = server->store().table("configmaps");
  const json::value object = *parseJson(
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","namespace":"default"}})");
  int count = 0;
  const auto addUpTo = [&](int wanted) {
    for (; count < wanted; ++count)
      server->store().put(table, Draft{fmt::format("default/m{:05}", count), {}, {}}, object);
  };
  const auto sizeOf = [&](const std::string& query, const char* type, const char* list) {
    const auto reply = get(kMaps + query, type);
    EXPECT_EQ(reply.status, 200);
    return std::pair(reply.body.at(list).get_array().size(),
                     textAt(reply.body, "metadata", "continue").empty());
  };
  addUpTo(600);
  const auto whole = std::pair(std::size_t{600}, true), page = std::pair(std::size_t{500}, false);
  EXPECT_EQ(sizeOf("?limit=500", kTable, "rows"), whole);
  EXPECT_EQ(sizeOf("?limit=501", kTable, "rows"), whole);
  EXPECT_EQ(sizeOf("?limit=499", kTable, "rows"), std::pair(std::size_t{499}, false));
  EXPECT_EQ(sizeOf("?limit=500&includeObject=Object", kTable, "rows"), page);
  EXPECT_EQ(sizeOf("?limit=500", kMetadata, "items"), page);
  EXPECT_EQ(sizeOf("?limit=500", "", "items"), page);
  // The rest of a list that began with a smaller page is the state of that page.
  const auto first = get(std::string(kMaps) + "?limit=10", kTable).body;
  addUpTo(610);
  const auto rest =
      std::string("?limit=500&continue=") + std::string(textAt(first, "metadata", "continue"));
  EXPECT_EQ(sizeOf(rest, kTable, "rows"), std::pair(std::size_t{590}, true));

  addUpTo(25'001);
  EXPECT_EQ(sizeOf("?limit=500", kTable, "rows"), page);
}

}  // namespace
}  // namespace koord::apiserver::testing
