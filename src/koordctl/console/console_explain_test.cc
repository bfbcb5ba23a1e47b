#include "koordctl/console/console_explain.h"

#include <gtest/gtest.h>

#include "base/virtual_loop.h"

namespace koord::koordctl {

namespace {

Task<void> explainInto(std::string kind, std::string name, Executor* executor,
                       std::optional<ErrorCode>* code) {
  cluster::Question question;
  question.executor = executor;
  auto asking = explainForConsole(question, std::move(kind), std::move(name));
  auto text = co_await asking;
  *code = text ? ErrorCode::Unknown : text.error().code;
}

ErrorCode codeOf(const std::string& kind, const std::string& name) {
  VirtualLoop loop;
  TaskGroup tasks;
  std::optional<ErrorCode> code;
  tasks.spawn(explainInto(kind, name, &loop, &code));
  loop.runReady();
  return code.value_or(ErrorCode::Timeout);
}

}  // namespace

// Names come from a browser and become parts of paths.
TEST(ConsoleExplainTest, TextsThatAreNotNamesAreRefused) {
  for (const auto* name :
       {"", "a/b/c", "../secrets", "a/../b", "/a", "a b", "a?x=1", "a%2fb", "<script>", "a\n"})
    EXPECT_EQ(codeOf("pod", name), ErrorCode::Invalid) << name;
}

TEST(ConsoleExplainTest, UnknownKindsAreRefused) {
  EXPECT_EQ(codeOf("secret", "a/b"), ErrorCode::Invalid);
  EXPECT_EQ(codeOf("", "a/b"), ErrorCode::Invalid);
}

}  // namespace koord::koordctl
