#include "cluster/screen/live/line_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <climits>

#include "base/fd.h"

namespace koord::cluster {
namespace {

TEST(LineOutputTest, ALongLineDoesNotWaitForAReaderThatDoesNotRead) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd from(ends[0]);
  const Fd to(ends[1]);
  ASSERT_GT(::fcntl(to.get(), F_SETPIPE_SZ, 4 * PIPE_BUF), 0);
  const std::string line(10 * PIPE_BUF, 'x');
  int lines = 0;
  while (lines < 100 && writeLine(to.get(), line)) ++lines;
  EXPECT_EQ(lines, 4);
  EXPECT_FALSE(writeLine(to.get(), "short"));
  std::string text(PIPE_BUF, '\0');
  ASSERT_GT(::read(from.get(), text.data(), text.size()), 0);
  EXPECT_NE(text.find("xxx...\n"), std::string::npos);
  EXPECT_TRUE(writeLine(to.get(), "short"));
}

}  // namespace
}  // namespace koord::cluster
