// The lean members of API objects, Text, List and Boxed, and parts that many objects have together.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "api/list.h"
#include "api/pod.h"
#include "api/sharing.h"
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

TEST(TextTest, copiesHaveTheSameCharacters) {
  const Text text = "default-scheduler";
  {
    const Text copy = text;
    Text changed = copy;
    EXPECT_EQ(copy.view().data(), text.view().data());
    EXPECT_EQ(text.useCount(), 3U);
    changed = "another-scheduler";
    EXPECT_EQ(text, "default-scheduler");
    EXPECT_EQ(text.useCount(), 2U);
  }
  EXPECT_EQ(text.useCount(), 1U);
  EXPECT_EQ(Text("Running").useCount(), 0U);
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

TEST(ListTest, copiesOfASharedListHaveItsItemsUntilOneIsChanged) {
  {
    List<Counted> list;
    for (int i = 0; i < 3; ++i) list.emplace_back(i);
    const List<Counted> apart = list;
    list.share();
    List<Counted> copy = list;
    const List<Counted> third = copy;
    EXPECT_EQ(list.useCount(), 3U);
    EXPECT_EQ(third.begin(), std::as_const(list).begin());
    EXPECT_EQ(Counted::alive, 6);
    EXPECT_EQ(apart.useCount(), 1U);

    copy.erase(std::as_const(copy).begin() + 1);
    EXPECT_EQ(numbersOf(copy), (Numbers{0, 2}));
    EXPECT_EQ(numbersOf(third), (Numbers{0, 1, 2}));
    EXPECT_EQ(list.useCount(), 2U);
    EXPECT_EQ(copy.useCount(), 1U);
    const List<Counted> apartAgain = copy;  // it is one like any other again
    EXPECT_NE(apartAgain.begin(), std::as_const(copy).begin());
    EXPECT_EQ(numbersOf(list), numbersOf(third));
  }
  EXPECT_EQ(Counted::alive, 0);
}

TEST(ListTest, everyChangeOfASharedListLeavesOthersAlone) {
  List<Counted> list;
  for (int i = 0; i < 3; ++i) list.emplace_back(i);
  list.share();
  const Numbers all{0, 1, 2};
  const auto changed = [&](auto change) {
    List<Counted> copy = list;
    change(copy);
    EXPECT_EQ(numbersOf(list), all);
    EXPECT_EQ(list.useCount(), 1U);
    return numbersOf(copy);
  };
  const auto first = [](List<Counted>& of) { return std::as_const(of).begin(); };
  using L = List<Counted>;
  EXPECT_EQ(changed([&](L& l) { l.emplace(first(l) + 3, 3); }), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(changed([&](L& l) { l.insert(first(l), list.begin(), list.begin() + 2); }),
            (Numbers{0, 1, 0, 1, 2}));
  EXPECT_EQ(changed([](L& l) { l.push_back(std::as_const(l).front()); }), (Numbers{0, 1, 2, 0}));
  EXPECT_EQ(changed([](L& l) { l.pop_back(); }), (Numbers{0, 1}));
  EXPECT_EQ(changed([](L& l) { l.clear(); }), Numbers{});
  EXPECT_EQ(changed([&](L& l) { l.erase(first(l) + 1, first(l) + 3); }), (Numbers{0}));
  EXPECT_EQ(changed([](L& l) { l[0] = Counted(9); }), (Numbers{9, 1, 2}));
  EXPECT_EQ(changed([](L& l) { l.at(1) = Counted(9); }), (Numbers{0, 9, 2}));
  EXPECT_EQ(changed([](L& l) { l.front() = l.back(); }), (Numbers{2, 1, 2}));
  EXPECT_EQ(changed([](L& l) { l.reserve(10); }), all);
  EXPECT_EQ(changed([](L& l) { l = List<Counted>(); }), Numbers{});
  EXPECT_EQ(changed([](L& l) { erase_if(l, [](const Counted& item) { return *item.value < 2; }); }),
            (Numbers{2}));
}

TEST(ListTest, lookingAtASharedListThatIsConstMakesNoItems) {
  List<int> list{1, 2};
  list.share();
  const List<int> copy = list;
  EXPECT_EQ(copy.at(0) + copy[1] + copy.front() + copy.back() + *copy.begin() + *copy.data(), 8);
  EXPECT_THROW(copy.at(2), std::out_of_range);
  EXPECT_EQ(copy, list);
  EXPECT_EQ(copy.useCount(), 2U);
}

TEST(ListTest, theLastOfASharedListChangesItInPlace) {
  List<Counted> list;
  list.emplace_back(1);
  list.share();
  const auto* const items = std::as_const(list).begin();
  {
    const List<Counted> copy = list;
  }
  EXPECT_EQ(list.begin(), items);
  EXPECT_EQ(list.useCount(), 1U);
  const List<Counted> copy = list;
  EXPECT_NE(copy.begin(), items);
}

TEST(ListTest, threadsMayHaveItemsTogether) {
  const std::string item(40, 'x');
  List<std::string> list;
  for (int n = 0; n < 100; ++n) list.push_back(item);
  list.share();
  const Text text = item;
  std::vector<std::jthread> threads;
  std::atomic<int> whole = 0;
  for (int n = 0; n < 4; ++n) {
    threads.emplace_back([mine = list, word = text, &item, &whole] {
      for (int round = 0; round < 1000; ++round) {
        List<std::string> copy = mine;
        const Text other = word;
        if (round % 10 == 0) copy[5] = "changed";
        whole += copy.size() == 100 && copy.back() == item && mine[5] == item && other == item;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(whole, 4000);
  EXPECT_EQ(list.useCount(), 1U);
  EXPECT_EQ(text.useCount(), 1U);
}

TEST(MapTest, aChangeOfASharedMapLeavesOthersAlone) {
  StringMap map{{"a", "1"}, {"b", "2"}};
  map.share();
  StringMap copy = map;
  EXPECT_EQ(copy.erase("c"), 0U);
  EXPECT_EQ(map.useCount(), 2U);  // nothing has changed
  EXPECT_EQ(copy.erase("a"), 1U);
  copy["b"] = "3";
  copy.insert_or_assign("d", "4");
  EXPECT_EQ(copy, (StringMap{{"b", "3"}, {"d", "4"}}));
  StringMap third = map;
  third.at("b") = "5";
  StringMap fourth = map;
  fourth.find("a")->second = "6";
  EXPECT_TRUE(fourth.find("c") == fourth.end());
  EXPECT_EQ(third, (StringMap{{"a", "1"}, {"b", "5"}}));
  EXPECT_EQ(map, (StringMap{{"a", "1"}, {"b", "2"}}));
}

TEST(BoxedTest, isAnOptionalThatCopiesMayShare) {
  Boxed<ResourceRequirements> box;
  EXPECT_FALSE(box);
  box.emplace().limits["cpu"] = Quantity::of(1);
  Boxed<ResourceRequirements> apart = box;
  apart->limits["cpu"] = Quantity::of(2);
  box.share();
  Boxed<ResourceRequirements> copy = box;
  EXPECT_EQ(box.useCount(), 2U);
  EXPECT_EQ(&*std::as_const(copy), &*std::as_const(box));
  copy->limits["cpu"] = Quantity::of(3);
  EXPECT_EQ(box->limits.at("cpu"), Quantity::of(1));
  box.reset();
  EXPECT_FALSE(box.has_value());
  EXPECT_EQ(copy->limits.at("cpu"), Quantity::of(3));
}

Pod aPodOf(const std::string& name, const std::string& memory, const std::string& argument) {
  Pod pod;
  pod.metadata.name = name;
  pod.metadata.labels = {{"app", "web"}};
  pod.metadata.ownerReferences.push_back({"apps/v1", "ReplicaSet", "web-1", "uid", true, true});
  pod.spec.schedulerName = "koord-scheduler";
  pod.spec.affinity.emplace().podAntiAffinity.emplace();
  Container& container = pod.spec.containers.emplace_back();
  container.name = "main";
  container.args.push_back(argument);
  container.resources.requests["memory"] = *Quantity::parse(memory);
  return pod;
}

TEST(SharingTest, podsHoldTogetherWhatTheyHaveAlike) {
  PodSharing sharing;
  Pod one = aPodOf("one", "1Gi", "-v");
  Pod two = aPodOf("two", "1Gi", "-v");
  Pod other = aPodOf("other", "1073741824", "-v");  // the same amount, written differently
  Pod third = aPodOf("third", "1Gi", "-w");
  for (Pod* pod : {&one, &two, &other, &third}) sharing.share(*pod);
  const auto& a = std::as_const(one);
  const auto& b = std::as_const(two);
  EXPECT_EQ(a.metadata.labels.begin(), b.metadata.labels.begin());
  EXPECT_EQ(a.metadata.ownerReferences.begin(), b.metadata.ownerReferences.begin());
  EXPECT_EQ(a.spec.containers.begin(), b.spec.containers.begin());
  EXPECT_EQ(a.spec.schedulerName.view().data(), b.spec.schedulerName.view().data());
  EXPECT_EQ(&*a.spec.affinity, &*b.spec.affinity);
  EXPECT_NE(a.spec.containers.begin(), std::as_const(other).spec.containers.begin());
  EXPECT_NE(a.spec.containers.begin(), std::as_const(third).spec.containers.begin());
  EXPECT_EQ(other.spec.containers[0].resources.requests.at("memory").toString(), "1073741824");
  EXPECT_EQ(third.spec.containers[0].args[0], "-w");
}

TEST(SharingTest, whatNobodyHasAnyMoreIsDropped) {
  Sharing<StringMap> sharing;
  StringMap kept{{"kept", ""}};
  sharing.share(kept);
  for (int n = 0; n < 10'000; ++n) {
    StringMap labels{{"n", std::to_string(n)}};
    sharing.share(labels);
  }
  EXPECT_LE(sharing.size(), 64U);
  StringMap again{{"kept", ""}};
  sharing.share(again);
  EXPECT_EQ(kept.useCount(), 3U);
}

TEST(LeanTest, anEmptyPodIsSmall) {
  // A hundred thousand of them are held; who adds a member pays for it here.
  EXPECT_LE(sizeof(Pod), 608U);
  EXPECT_LE(sizeof(Container), 136U);
}

}  // namespace
}  // namespace koord::api
