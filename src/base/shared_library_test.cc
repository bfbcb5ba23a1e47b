#include "base/shared_library.h"

#include <gmock/gmock.h>

namespace koord {
namespace {

using testing::HasSubstr;

TEST(SharedLibraryTest, TheFirstLibraryThatIsThereIsOpened) {
  auto library = SharedLibrary::open({"libno-such.so.7", "libm.so.6"});
  ASSERT_TRUE(library) << library.error().message;
  double (*cosine)(double) = nullptr;
  library->need(cosine, "cos");
  ASSERT_TRUE(library->complete());
  EXPECT_EQ(cosine(0), 1);
}

TEST(SharedLibraryTest, WithoutAnyTheFirstOneIsNamed) {
  const auto library = SharedLibrary::open({"libno-such.so.7", "libno-such.so.6"});
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, ErrorCode::NotFound);
  EXPECT_THAT(library.error().message, HasSubstr("libno-such.so.7"));
  EXPECT_EQ(SharedLibrary::open({}).error().message, "no library has a name");
}

TEST(SharedLibraryTest, OnlyANeededFunctionMustBeThere) {
  auto library = *SharedLibrary::open({"libm.so.6"});
  void (*first)() = nullptr;
  void (*second)() = nullptr;
  library.find(first, "no_such_function");
  EXPECT_EQ(first, nullptr);
  EXPECT_TRUE(library.complete());
  library.need(first, "needed_first").need(second, "needed_second");
  ASSERT_FALSE(library.complete());
  EXPECT_EQ(library.complete().error().message, "libm.so.6 has no needed_first");
}

}  // namespace
}  // namespace koord
