// Lists and watches.

#include <gmock/gmock.h>

#include "apiserver/testing.h"
#include "net/tls.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class WatchTest : public ServerTest {
 protected:
  std::string path(const std::string& pod) { return std::string(kPods) + "/" + pod; }
  std::vector<std::string> names(const json::value& list) {
    std::vector<std::string> out;
    for (const auto& item : list.at("items").get_array())
      out.emplace_back(textAt(item, "metadata", "name"));
    return out;
  }
};

TEST_F(WatchTest, aListIsOrderedAndSelects) {
  post(kPods, pod("b", "", R"({"app":"web"})"));
  post(kPods, pod("a"));
  post(kPods, pod("c", "", R"({"app":"web","tier":"x"})"));
  EXPECT_THAT(names(get(kPods).body), ElementsAre("a", "b", "c"));
  EXPECT_EQ(textAt(get(kPods).body, "kind"), "PodList");
  EXPECT_THAT(names(get(std::string(kPods) + "?labelSelector=app%3Dweb,!tier").body),
              ElementsAre("b"));
  EXPECT_THAT(names(get("/api/v1/pods?fieldSelector=metadata.name=c").body), ElementsAre("c"));
  EXPECT_THAT(names(get("/api/v1/pods?fieldSelector=spec.nodeName%3D").body), SizeIs(3));
  EXPECT_EQ(get("/api/v1/pods?fieldSelector=spec.bogus=1").message(),
            "field label not supported: spec.bogus");
  EXPECT_EQ(get("/api/v1/pods?labelSelector=a%20b").status, 400);
}

TEST_F(WatchTest, aListComesInPages) {
  for (const auto* name : {"a", "b", "c", "d", "e"}) post(kPods, pod(name));
  auto page = get(std::string(kPods) + "?limit=2").body;
  EXPECT_THAT(names(page), ElementsAre("a", "b"));
  EXPECT_EQ(*at(page, "metadata", "remainingItemCount"), 3);
  const std::string version(textAt(page, "metadata", "resourceVersion"));
  // The pages are one snapshot, regardless of changes between them.
  post(kPods, pod("bb"));
  remove(std::string(kPods) + "/c");
  page = get(std::string(kPods) +
             "?limit=2&continue=" + net::percentEncode(textAt(page, "metadata", "continue")))
             .body;
  EXPECT_THAT(names(page), ElementsAre("c", "d"));
  EXPECT_EQ(*at(page, "metadata", "remainingItemCount"), 1);
  EXPECT_EQ(textAt(page, "metadata", "resourceVersion"), version);
  page = get(std::string(kPods) +
             "?limit=9&continue=" + net::percentEncode(textAt(page, "metadata", "continue")))
             .body;
  EXPECT_THAT(names(page), ElementsAre("e"));
  EXPECT_EQ(at(page, "metadata", "continue"), nullptr);
  EXPECT_THAT(
      names(
          get(std::string(kPods) + "?resourceVersionMatch=Exact&resourceVersion=" + version).body),
      ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_THAT(names(get(kPods).body), ElementsAre("a", "b", "bb", "d", "e"));
  EXPECT_EQ(get(std::string(kPods) + "?continue=rubbish").status, 400);
}

TEST_F(WatchTest, aContinueTokenWithAnOddVersionIsRefused) {
  for (const char* version : {"-1", "1.5", "1e300", "-1e300", "1e-300", "18446744073709551615",
                              "9223372036854775808", "\"1\"", "null", "{}", "[1]", "true"}) {
    const auto token =
        net::base64Encode(fmt::format(R"({{"rv":{},"start":"default/a"}})", version));
    const auto answer = get(std::string(kPods) + "?limit=1&continue=" + net::percentEncode(token));
    EXPECT_TRUE(answer.status == 400 || answer.status == 410) << version << ": " << answer.status;
  }
}

TEST_F(WatchTest, aContinueTokenMayLieOutsideOfTheNamespace) {
  post("/api/v1/namespaces", R"({"metadata":{"name":"other"}})");
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  post(maps, R"({"metadata":{"name":"m"}})");
  post("/api/v1/namespaces/other/configmaps", R"({"metadata":{"name":"m"}})");
  const auto answer = [&](const std::string& start, const std::string& path) {
    const std::string version(textAt(get(maps).body, "metadata", "resourceVersion"));
    const auto token =
        net::base64Encode(fmt::format(R"({{"rv":{},"start":"{}"}})", version, start));
    return get(path + "?limit=5&continue=" + net::percentEncode(token));
  };
  for (const auto* beyond : {"zzzz", "default0", "other/m", "default/zz", "\u00ff"}) {
    const auto got = answer(beyond, maps);
    EXPECT_EQ(got.status, 200) << beyond;
    EXPECT_THAT(names(got.body), IsEmpty()) << beyond;
  }
  for (const auto* before : {"", "a", "default", "default/", "default/a"})
    EXPECT_THAT(names(answer(before, maps).body), ElementsAre("m")) << before;
  EXPECT_THAT(names(answer("zzzz", "/api/v1/configmaps").body), IsEmpty());
}

TEST_F(WatchTest, aWatchShowsWhatIsThereAndThenEveryChange) {
  post(kPods, pod("a"));
  auto& log = watch(kPods);
  EXPECT_THAT(log.lines, ElementsAre("ADDED a"));
  post(kPods, pod("b"));
  mergePatch(path("a"), R"({"metadata":{"labels":{"x":"y"}}})");
  remove(path("b"));
  EXPECT_THAT(log.lines, ElementsAre("ADDED a", "ADDED b", "MODIFIED a", "DELETED b"));
  EXPECT_EQ(textAt(log.objects[2], "metadata", "labels", "x"), "y");
  // Versions only grow, also that of the deleted object.
  std::uint64_t last = 0;
  for (const auto& object : log.objects) {
    const auto version = std::stoull(std::string(textAt(object, "metadata", "resourceVersion")));
    EXPECT_GT(version, last);
    last = version;
  }
}

TEST_F(WatchTest, aWatchFromAVersionShowsWhatCameAfter) {
  post(kPods, pod("a"));
  const std::string version(textAt(get(kPods).body, "metadata", "resourceVersion"));
  post(kPods, pod("b"));
  remove(path("a"));
  auto& log = watch(std::string(kPods) + "?resourceVersion=" + version);
  EXPECT_THAT(log.lines, ElementsAre("ADDED b", "DELETED a"));
  post("/api/v1/namespaces/kube-system/pods", pod("elsewhere"));
  EXPECT_THAT(log.lines, SizeIs(2));
}

TEST_F(WatchTest, aWatchWithoutInitialEventsShowsOnlyWhatComesLater) {
  post(kPods, pod("a"));
  const std::string begin =
      std::string(kPods) + "?resourceVersionMatch=NotOlderThan&sendInitialEvents=";
  auto& none = watch(begin + "false");
  auto& zero = watch(begin + "0&resourceVersion=0");
  auto& all = watch(begin + "true&allowWatchBookmarks=true");
  EXPECT_THAT(none.lines, IsEmpty());
  EXPECT_THAT(zero.lines, IsEmpty());
  EXPECT_THAT(all.lines, ElementsAre("ADDED a", "BOOKMARK "));
  post(kPods, pod("b"));
  EXPECT_THAT(none.lines, ElementsAre("ADDED b"));
  EXPECT_THAT(zero.lines, ElementsAre("ADDED b"));
}

TEST_F(WatchTest, anOddTimeoutIsRefusedAndALongOneIsNoShortOne) {
  for (const auto* odd : {"abc", "1x", "1.5", "99999999999999999999", "%20"}) {
    auto& log = watch(std::string(kPods) + "?timeoutSeconds=" + odd);
    ASSERT_THAT(log.ended, SizeIs(1)) << odd;
    EXPECT_EQ(log.ended[0].code, ErrorCode::BadRequest) << odd;
  }
  auto& log = watch(std::string(kPods) + "?timeoutSeconds=9223372036854775807");
  loop.advance(std::chrono::hours(1));
  EXPECT_THAT(log.ended, IsEmpty());
}

TEST_F(WatchTest, selectorsMakeAdditionsAndDeletionsOfChanges) {
  auto& log = watch(std::string(kPods) + "?labelSelector=app%3Dweb");
  post(kPods, pod("a"));
  EXPECT_THAT(log.lines, IsEmpty());
  mergePatch(path("a"), R"({"metadata":{"labels":{"app":"web"}}})");
  mergePatch(path("a"), R"({"metadata":{"labels":{"n":"1"}}})");
  mergePatch(path("a"), R"({"metadata":{"labels":{"app":"db"}}})");
  EXPECT_THAT(log.lines, ElementsAre("ADDED a", "MODIFIED a", "DELETED a"));
  EXPECT_EQ(textAt(log.objects[2], "metadata", "labels", "app"), "web");

  auto& byNode = watch(std::string(kPods) + "?fieldSelector=spec.nodeName%3Dn1");
  post(path("a") + "/binding", R"({"target":{"name":"n1"}})");
  EXPECT_THAT(byNode.lines, ElementsAre("ADDED a"));
}

TEST_F(WatchTest, aVersionThatIsForgottenOrUnknownIsGone) {
  options.historyEvents = 4;
  openServer();
  for (int i = 0; i < 10; ++i) {
    post(kPods, pod("a"));
    remove(path("a"));
  }
  for (const auto* version : {"3", "99999"}) {
    auto& log = watch(std::string(kPods) + "?resourceVersion=" + version);
    EXPECT_THAT(log.lines, ElementsAre("ERROR "));
    EXPECT_EQ(*find(log.objects[0], "code"), 410);
    ASSERT_THAT(log.ended, SizeIs(1));
    EXPECT_EQ(log.ended[0].code, ErrorCode::Gone);
  }
  EXPECT_EQ(get(std::string(kPods) + "?resourceVersion=99999").status, 504);
}

TEST_F(WatchTest, initialEventsEndWithABookmark) {
  post(kPods, pod("a"));
  auto& log =
      watch(std::string(kPods) +
            "?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true");
  EXPECT_THAT(log.lines, ElementsAre("ADDED a", "BOOKMARK "));
  EXPECT_EQ(textAt(log.objects[1], "metadata", "annotations", "k8s.io/initial-events-end"), "true");
  EXPECT_EQ(textAt(log.objects[1], "kind"), "Pod");
}

TEST_F(WatchTest, whatIsThereIsSentNoFasterThanTheWatcherTakesIt) {
  const std::string note(200'000, 'x');
  for (int i = 0; i < 100; ++i)
    post("/api/v1/namespaces/default/configmaps",
         R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c-)" + std::to_string(i) +
             R"("},"data":{"note":")" + note + "\"}}");
  std::size_t waiting = 0, most = 0, lines = 0;
  std::string last;
  LineSink sink;
  sink.onLine = [&](const Bytes& line) {
    waiting += line->size();
    most = std::max(most, waiting);
    ++lines;
    last = line->substr(0, 20);
  };
  sink.behind = [&] { return waiting; };
  auto stream =
      server->watch(routed("GET", "/api/v1/namespaces/default/configmaps?watch=true", "", "", ""),
                    std::move(sink));
  ASSERT_TRUE(stream);
  loop.advance(std::chrono::seconds(1));
  EXPECT_LT(lines, 100u);
  // Happens before the watcher has received all initial objects.
  remove("/api/v1/namespaces/default/configmaps/c-7");
  while (lines < 101 && most < 30'000'000) {
    waiting /= 2;
    loop.advance(std::chrono::milliseconds(10));
  }
  EXPECT_LT(most, 10'000'000u);
  EXPECT_EQ(last, R"({"type":"DELETED","o)");
}

TEST_F(WatchTest, bookmarksTellOfProgressElsewhere) {
  auto& log = watch(std::string(kPods) + "?allowWatchBookmarks=true");
  loop.advance(std::chrono::seconds(61));
  EXPECT_THAT(log.lines, IsEmpty());
  post("/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"c"}})");
  loop.advance(std::chrono::seconds(61));
  EXPECT_THAT(log.lines, ElementsAre("BOOKMARK "));
  loop.advance(std::chrono::seconds(61));
  EXPECT_THAT(log.lines, SizeIs(1));
}

TEST_F(WatchTest, aWatchEndsInTime) {
  auto& log = watch(std::string(kPods) + "?timeoutSeconds=10");
  loop.advance(std::chrono::seconds(9));
  EXPECT_THAT(log.ended, IsEmpty());
  loop.advance(std::chrono::seconds(2));
  ASSERT_THAT(log.ended, SizeIs(1));
  EXPECT_EQ(log.ended[0].message, "");
}

TEST_F(WatchTest, anEndedStreamGetsNothingMore) {
  auto& log = watch(kPods);
  log.stream.reset();
  post(kPods, pod("a"));
  EXPECT_THAT(log.lines, IsEmpty());
  EXPECT_EQ(server->store().table("pods").watcherCount(), 0u);
}

TEST_F(WatchTest, tablesHaveColumnsAndRows) {
  post(kPods, pod("a"));
  loop.advance(std::chrono::seconds(90));
  const auto table =
      get(kPods, "application/json;as=Table;v=v1;g=meta.k8s.io,application/json").body;
  EXPECT_EQ(textAt(table, "kind"), "Table");
  EXPECT_EQ(textAt(table.at("columnDefinitions").get_array()[2], "name"), "Status");
  const auto& row = table.at("rows").get_array()[0];
  EXPECT_EQ(row.at("cells").get_array()[0], "a");
  EXPECT_EQ(row.at("cells").get_array()[1], "0/1");
  EXPECT_EQ(row.at("cells").get_array()[2], "Pending");
  EXPECT_EQ(row.at("cells").get_array()[4], "90s");
  EXPECT_EQ(textAt(row, "object", "kind"), "PartialObjectMetadata");
}

}  // namespace
}  // namespace koord::apiserver::testing
