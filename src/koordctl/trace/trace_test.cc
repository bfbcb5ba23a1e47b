#include "koordctl/trace/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace koord::koordctl {
namespace {

using ::testing::ElementsAre;

TEST(TraceTest, published_nodes_and_tasks_are_read) {
  const auto nodes =
      parseTraceNodes("sn,cpu_milli,memory_mib,gpu,model\nn-0,64000,262144,2,P100\r\n", "n");
  ASSERT_TRUE(nodes) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 1U);
  EXPECT_EQ(nodes->front().cpu, 64000);
  EXPECT_EQ(nodes->front().gpus, 2);
  EXPECT_EQ(nodes->front().model, "P100");

  const auto tasks = parseTraceTasks(
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,creation_time,deletion_time,"
      "scheduled_time\nt,8000,1024,1,460,V100|T4,LS,100,250.0,120.0\nu,1000,1,0,0,,BE,5,,\n",
      "t");
  ASSERT_TRUE(tasks) << tasks.error().message;
  const TraceTask& first = tasks->front();
  EXPECT_EQ(first.gpuMilli(), 460);
  EXPECT_THAT(first.models, ElementsAre("V100", "T4"));
  EXPECT_EQ(first.arrival, 100);
  EXPECT_EQ(first.duration, 130) << "from its start";
  EXPECT_EQ(tasks->back().gpuMilli(), 0);
  EXPECT_FALSE(tasks->back().duration) << "it stays";
}

TEST(TraceTest, columns_of_the_own_format_have_quantities) {
  const auto nodes = parseTraceNodes("gpus,name,cpu,memory\n8,n,96,384Gi\n", "n");
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_EQ(nodes->front().cpu, 96000);
  EXPECT_EQ(nodes->front().memory, 384 << 10);
  const auto tasks = parseTraceTasks(
      "name,cpu,memory,gpus,gpu_percent,priority,arrival,duration\n"
      "t,1500m,2Gi,1,50,9000,10,60\n",
      "t");
  ASSERT_TRUE(tasks) << tasks.error().message;
  EXPECT_EQ(tasks->front().cpu, 1500);
  EXPECT_EQ(tasks->front().share, 500);
  EXPECT_EQ(tasks->front().priority, 9000);
  EXPECT_EQ(tasks->front().duration, 60);
}

TEST(TraceTest, errors_name_the_file_the_line_and_the_column) {
  const auto why = [](std::string_view text) {
    const auto tasks = parseTraceTasks(text, "tasks.csv");
    return tasks ? std::string() : tasks.error().message;
  };
  EXPECT_EQ(why(""), "tasks.csv: is empty; a line of columns must be first");
  EXPECT_EQ(why("name,cpu,memory\n\nt,1\n"),
            "tasks.csv:3: has 2 fields, but the first line names 3 columns");
  EXPECT_EQ(why("name,cpu,memory\nt,one,1\n"),
            "tasks.csv:2: cpu: \"one\" must be a quantity of at least 0");
  EXPECT_EQ(why("name,cpu,memory\n,1,1\n"), "tasks.csv:2: name: must not be empty");
  EXPECT_EQ(why("name,cpu,memory,gpus\nt,1,1,-1\n"),
            "tasks.csv:2: gpus: \"-1\" must be a number of at least 0");
}

}  // namespace
}  // namespace koord::koordctl
