// The lean members of API objects: Text and List.

#include <gtest/gtest.h>

#include <memory>

#include "api/list.h"
#include "api/pod.h"
#include "api/text.h"

namespace koord::api {
namespace {

TEST(TextTest, keepsWhatItIsGivenInPlaceOrOnTheHeap) {
  for (std::size_t size = 0; size < 40; ++size) {
    const std::string given(size, static_cast<char>('a' + size % 26));
    Text text = given;
    const Text copy = text;
    EXPECT_EQ(text, given);
    EXPECT_EQ(text.empty(), given.empty());
    EXPECT_EQ(text.size(), size);
    const Text moved = std::move(text);
    EXPECT_EQ(moved.str(), given);
    EXPECT_EQ(copy, moved);
    text = copy;
    text = text.view();  // of itself
    EXPECT_EQ(text, given);
  }
  EXPECT_EQ(Text(std::string_view("a\0b", 3)).size(), 3U);
  EXPECT_LT(Text("Always"), "Never");
  EXPECT_NE(Text("Running"), Text("RunningOn"));
}

// Counts the items that live.
struct Counted {
  explicit Counted(int number) : value(std::make_shared<int>(number)) { ++alive; }
  Counted(const Counted& other) : value(other.value) { ++alive; }
  Counted(Counted&& other) noexcept : value(std::move(other.value)) { ++alive; }
  Counted& operator=(const Counted&) = default;
  Counted& operator=(Counted&&) noexcept = default;
  ~Counted() { --alive; }
  bool operator==(const Counted& other) const { return *value == *other.value; }
  std::shared_ptr<int> value;
  static inline int alive = 0;
};

std::vector<int> numbersOf(const List<Counted>& list) {
  std::vector<int> numbers;
  for (const auto& item : list) numbers.push_back(*item.value);
  return numbers;
}

using Numbers = std::vector<int>;

TEST(ListTest, insertsAndRemovesAnywhereAndForgetsNothing) {
  {
    List<Counted> list;
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(list.begin(), list.end());
    for (int i = 0; i < 5; ++i) list.emplace_back(i);
    list.emplace(list.begin() + 2, 7);
    list.push_back(list.front());  // a part of the list itself, also when it has to move
    list.push_back(list.front());
    list.push_back(list.front());
    EXPECT_EQ(numbersOf(list), (Numbers{0, 1, 7, 2, 3, 4, 0, 0, 0}));
    list.erase(list.begin() + 1, list.begin() + 3);
    EXPECT_EQ(numbersOf(list), (Numbers{0, 2, 3, 4, 0, 0, 0}));
    EXPECT_EQ(erase_if(list, [](const Counted& item) { return *item.value == 0; }), 4U);
    EXPECT_EQ(numbersOf(list), (Numbers{2, 3, 4}));
    List<Counted> copy = list;
    EXPECT_EQ(copy, list);
    copy.insert(copy.begin() + 1, list.begin(), list.end());
    EXPECT_EQ(numbersOf(copy), (Numbers{2, 2, 3, 4, 3, 4}));
    EXPECT_NE(copy, list);
    list = std::move(copy);
    list.shrink_to_fit();
    EXPECT_EQ(list.capacity(), 6U);
    EXPECT_EQ(Counted::alive, 6);
    list.clear();
    list.shrink_to_fit();
    EXPECT_EQ(list.capacity(), 0U);
    EXPECT_THROW(list.at(0), std::out_of_range);
  }
  EXPECT_EQ(Counted::alive, 0);
}

TEST(LeanTest, anEmptyPodIsSmall) {
  // A hundred thousand of them are held; who adds a member pays for it here.
  EXPECT_LE(sizeof(Pod), 608U);
  EXPECT_LE(sizeof(Container), 128U);
}

}  // namespace
}  // namespace koord::api
