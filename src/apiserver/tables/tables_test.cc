#include "apiserver/tables/tables.h"

#include <gmock/gmock.h>

#include "base/time.h"

namespace koord::apiserver {
namespace {

using testing::ElementsAre;

Resource custom(const char* group, const char* plural, std::vector<Column> columns) {
  Resource resource;
  resource.group = group;
  resource.plural = plural;
  resource.custom = true;
  resource.versions.resize(1);
  resource.versions[0].columns = std::move(columns);
  return resource;
}

std::vector<std::string> namesOf(const TableWriter& table) {
  std::vector<std::string> names;
  for (const auto& column : table.columns()) names.push_back(column.name);
  return names;
}

std::string rowOf(const TableWriter& table, const char* object) {
  return toJson(table.cells(parseJson(object).value(), parseTime("2026-01-01T00:05:00Z").value()));
}

TEST(TablesTest, aColumnShowsTheFirstValueOfItsPath) {
  const auto gizmos = custom("example.com", "gizmos",
                             {{"Names", "string", "", 0, ".spec.items[*].name"},
                              {"All", "string", "", 1, ".spec.items"},
                              {"Bad", "integer", "", 0, ".spec.items[?(@.bad==true)].size"},
                              {"Since", "date", "", 0, ".metadata.creationTimestamp"}});
  const TableWriter table(gizmos, gizmos.versions[0]);
  EXPECT_THAT(namesOf(table), ElementsAre("Name", "Names", "All", "Bad", "Since"));
  EXPECT_EQ(rowOf(table, R"({"metadata":{"name":"g","creationTimestamp":"2026-01-01T00:00:00Z"},
      "spec":{"items":[{"name":"a"},{"name":"b","bad":true,"size":3}]}})"),
            R"(["g","a","[{\"name\":\"a\"},{\"name\":\"b\",\"bad\":true,\"size\":3}]",3,"5m"])");
  EXPECT_EQ(rowOf(table, R"({"metadata":{"name":"g"}})"), R"(["g",null,null,null,null])");
}

TEST(TablesTest, devicesAreCountedByType) {
  const auto devices = custom("scheduling.koordinator.sh", "devices",
                              {{"Age", "date", "", 0, ".metadata.creationTimestamp"}});
  const TableWriter table(devices, devices.versions[0]);
  EXPECT_THAT(namesOf(table), ElementsAre("Name", "Age", "Devices", "Broken"));
  EXPECT_EQ(rowOf(table, R"({"metadata":{"name":"a","creationTimestamp":"2026-01-01T00:00:00Z"},
      "spec":{"devices":[{"type":"rdma","health":true},{"type":"gpu","health":false},
                         {"type":"gpu","health":true},7]}})"),
            R"(["a","5m","1 other, 2 gpu, 1 rdma",1])");
  EXPECT_EQ(rowOf(table, R"({"metadata":{"name":"a"},"spec":{"devices":"none"}})"),
            R"(["a",null,null,null])");
}

}  // namespace
}  // namespace koord::apiserver
