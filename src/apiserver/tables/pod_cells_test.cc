#include <gmock/gmock.h>

#include "apiserver/tables/builtin_tables.h"
#include "base/time.h"

namespace koord::apiserver {
namespace {

TEST(PodCellsTest, readyStatusAndRestartsAreThoseThatKubectlShows) {
  struct Row {
    const char* what;
    const char* pod;
    const char* shown;  // ready, status, restarts
  };
  constexpr const char* kSidecar =
      R"("spec":{"initContainers":[{"name":"i"},{"name":"s","restartPolicy":"Always"}],"containers":[{"name":"c"}]})";
  constexpr const char* kPlain = R"("spec":{"containers":[{"name":"c"},{"name":"d"}]})";
  const Row rows[] = {
      {"a sidecar counts", R"("status":{"phase":"Running","initContainerStatuses":[
         {"name":"i","restartCount":4,"state":{"terminated":{"exitCode":0}}},
         {"name":"s","restartCount":2,"started":true,"ready":true,"state":{"running":{}}}],
         "containerStatuses":[{"name":"c","ready":true,"restartCount":1,"state":{"running":{}}}]})",
       R"(["2/2","Running","3"])"},
      {"an init container is tried again", R"("status":{"phase":"Pending","initContainerStatuses":[
         {"name":"i","restartCount":4,"state":{"running":{}},
          "lastState":{"terminated":{"finishedAt":"2026-01-01T00:00:00Z"}}}]})",
       R"x(["0/2","Init:0/2","4 (5m ago)"])x"},
      {"the last restart", R"("status":{"phase":"Running","containerStatuses":[
         {"name":"c","ready":true,"restartCount":1,"state":{"running":{}},
          "lastState":{"terminated":{"finishedAt":"2025-12-31T00:00:00Z"}}},
         {"name":"d","ready":true,"restartCount":2,"state":{"running":{}},
          "lastState":{"terminated":{"finishedAt":"2026-01-01T00:04:00Z"}}}]})",
       R"x(["2/2","Running","3 (60s ago)"])x"},
      {"what failed is told before what completed",
       R"("status":{"phase":"Running","containerStatuses":[
         {"name":"c","state":{"terminated":{"exitCode":0,"reason":"Completed"}}},
         {"name":"d","state":{"terminated":{"exitCode":1,"reason":"Error"}}}]})",
       R"(["0/2","Error","0"])"},
      {"a pod that is over does not terminate",
       R"("metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"},"status":{"phase":"Succeeded","containerStatuses":[
         {"name":"c","state":{"terminated":{"exitCode":0,"reason":"Completed"}}}]})",
       R"(["0/2","Completed","0"])"},
      {"one that runs does", R"("metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"},
         "status":{"phase":"Running"})",
       R"(["0/2","Terminating","0"])"},
      {"gates", R"("status":{"phase":"Pending","conditions":[
         {"type":"PodScheduled","status":"False","reason":"SchedulingGated"}]})",
       R"(["0/2","SchedulingGated","0"])"},
  };
  const auto now = parseTime("2026-01-01T00:05:00Z").value();
  for (const auto& row : rows) {
    const bool sidecar =
        std::string_view(row.pod).find("initContainerStatuses") != std::string_view::npos;
    const auto pod =
        parseJson(std::string("{") + (sidecar ? kSidecar : kPlain) + "," + row.pod + "}");
    ASSERT_TRUE(pod) << row.what;
    const auto cells = podCells(*pod, now);
    EXPECT_EQ(toJson(json::array{cells[0], cells[1], cells[2]}), row.shown) << row.what;
  }
}

}  // namespace
}  // namespace koord::apiserver
