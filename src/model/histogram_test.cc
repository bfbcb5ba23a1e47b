#include "model/histogram.h"

#include <gtest/gtest.h>

#include "base/time.h"

namespace koord::model {
namespace {

TEST(Histogram, weights_decay_as_in_upstream_to_the_last_bit) {
  struct Row {
    const char* time;
    double weight;
  };
  for (const Row& row : {
           Row{"2026-03-07T09:02:56Z", 0.8432744064183948},  // glibc: ...947
           Row{"2026-03-07T12:50:54Z", 1.0502220886964273},  // ...275
           Row{"2026-03-07T15:17:27Z", 1.2093535821443542},  // ...354
           Row{"2026-03-07T17:11:26Z", 1.3496134872812307},  // ...304
           Row{"2026-03-07T12:00:00Z", 1},
       }) {
    Histogram histogram(cpuBuckets(), kEmptyWeight, std::chrono::hours(12));
    histogram.add(1, 1, *parseTime(row.time));
    EXPECT_EQ(histogram.save().total, row.weight) << row.time;
  }
}

}  // namespace
}  // namespace koord::model
