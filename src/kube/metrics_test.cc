#include "kube/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/virtual_loop.h"
#include "kube/work_queue.h"

namespace koord::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(MetricsTest, RequestsAreCountedAndTimedByHost) {
  Metrics metrics;
  metrics.requestDone("GET", "127.0.0.1:6443", 200, 30ms);
  metrics.requestDone("GET", "127.0.0.1:6443", 0, 3s);
  metrics.rateLimited("GET", "127.0.0.1:6443", 2s);
  metrics.requestSized("GET", "127.0.0.1:6443", 0, 2'000'000);
  metrics.setLeading("koord", true);
  const std::string text = metrics.text({});
  for (
      const char* line : {
          R"(rest_client_requests_total{code="200",host="127.0.0.1:6443",method="GET"} 1)",
          R"(rest_client_requests_total{code="<error>",host="127.0.0.1:6443",method="GET"} 1)",
          R"(rest_client_request_duration_seconds_bucket{host="127.0.0.1:6443",verb="GET",le="0.1"} 1)",
          R"(rest_client_request_duration_seconds_count{host="127.0.0.1:6443",verb="GET"} 2)",
          R"(rest_client_rate_limiter_duration_seconds_bucket{host="127.0.0.1:6443",verb="GET",le="2"} 1)",
          R"(rest_client_response_size_bytes_bucket{host="127.0.0.1:6443",verb="GET",le="1.048576e+06"} 0)",
          R"(rest_client_response_size_bytes_sum{host="127.0.0.1:6443",verb="GET"} 2e+06)",
          R"(leader_election_master_status{name="koord"} 1)",
      })
    EXPECT_THAT(text, HasSubstr(line));
}

Task<Result<>> failOnce(VirtualLoop* loop, bool* failing) {
  auto pause = sleepFor(*loop, 2s);
  co_await pause;
  if (std::exchange(*failing, false)) co_return fail(ErrorCode::Internal, "once");
  co_return Result<>{};
}

TEST(MetricsTest, AWorkQueueTellsWhatWaitsAndHowLongThingsTake) {
  VirtualLoop loop;
  Metrics metrics;
  bool failing = true;
  WorkQueue queue(loop, "things", [&](std::string) { return failOnce(&loop, &failing); }, &metrics);
  queue.add("a");
  queue.add("b");
  EXPECT_THAT(metrics.text(loop.steadyNow()), HasSubstr(R"(workqueue_depth{name="things"} 2)"));
  queue.start();
  loop.advance(1500ms);
  std::string text = metrics.text(loop.steadyNow());
  EXPECT_THAT(text, HasSubstr(R"(workqueue_depth{name="things"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(workqueue_unfinished_work_seconds{name="things"} 1.5)"));
  loop.advance(10s);
  text = metrics.text(loop.steadyNow());
  for (const char* line :
       {R"(workqueue_adds_total{name="things"} 3)", R"(workqueue_retries_total{name="things"} 1)",
        R"(workqueue_depth{name="things"} 0)",
        R"(workqueue_work_duration_seconds_sum{name="things"} 6)",
        R"(workqueue_queue_duration_seconds_count{name="things"} 3)",
        R"(workqueue_longest_running_processor_seconds{name="things"} 0)"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(MetricsTest, TheProcessIsMeasured) {
  const std::string text = processMetricsText();
  const auto valueOf = [&](const std::string& name) {
    const auto at = text.find("\n" + name + " ");
    return at == text.npos ? -1 : std::strtod(text.c_str() + at + name.size() + 2, nullptr);
  };
  EXPECT_GT(valueOf("process_resident_memory_bytes"), 1 << 20);
  EXPECT_GE(valueOf("process_virtual_memory_bytes"), valueOf("process_resident_memory_bytes"));
  EXPECT_GE(valueOf("process_open_fds"), 3);
  EXPECT_GE(valueOf("process_cpu_seconds_total"), 0);
  EXPECT_GE(valueOf("process_threads"), 1);
  EXPECT_GE(valueOf("process_network_receive_bytes_total"), 0);
  EXPECT_GT(valueOf("process_start_time_seconds"), 1.6e9);
}

}  // namespace
}  // namespace koord::kube
