// An informer over HTTP whose connection is cut at every byte of all that the server sends:
// its handlers must receive every change once and in order.
//
// Variations are tried at some of the places only, unless KOORD_FAULT_SEEDS is set.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <utility>

#include "api/core.h"
#include "api/protobuf/plan.h"
#include "api/protobuf/transcode.h"
#include "base/log.h"
#include "base/virtual_loop.h"
#include "kube/http_api.h"
#include "kube/informer.h"
#include "net/testing/sim_network.h"
#include "net/url.h"

namespace koord::kube {
namespace {

using namespace std::chrono_literals;

struct Change {
  std::string type;
  std::string name;
  std::string uid;
};

// Versions 11, 12, ... of the store. "b" is deleted and made again.
const std::vector<Change> kHistory{
    {"ADDED", "a", "1"},    {"ADDED", "b", "2"},   {"MODIFIED", "a", "1"}, {"DELETED", "b", "2"},
    {"ADDED", "b", "3"},    {"BOOKMARK", "", ""},  {"ADDED", "c", "4"},    {"MODIFIED", "b", "3"},
    {"MODIFIED", "c", "4"}, {"DELETED", "a", "1"},
};
constexpr int kFirst = 11;
constexpr int kListed = 12;  // when the informer comes, the store is at this version
constexpr int kLast = kFirst + 9;

// Answers lists and watches out of kHistory.
class Replay {
 public:
  bool streams = true;   // knows streaming lists
  bool protobuf = true;  // and protobuf
  int expires = 0;       // the first watch that gets here is answered that its version is too old

  void handle(const net::ServerRequest& request, const std::shared_ptr<net::Responder>& to) {
    const auto target = net::parseTarget(request.target);
    if (!target->has("watch")) return to->respond(200, head(), list());
    const bool initial = target->has("sendInitialEvents");
    if (initial && !streams)
      return to->respond(422, {}, R"({"kind":"Status","reason":"Invalid","message":"unknown"})");
    to->begin(200, head());
    open_.push_back(to);
    int from = initial ? now_ : std::stoi(std::string(target->param("resourceVersion")));
    if (initial) {
      for (const auto& [name, text] : state()) send(*to, "ADDED", text);
      send(*to, "BOOKMARK",
           fmt::format(R"({{"metadata":{{"resourceVersion":"{}",)"
                       R"("annotations":{{"k8s.io/initial-events-end":"true"}}}}}})",
                       now_));
    }
    for (int version = from + 1; version <= kLast; ++version) {
      if (version == expires) {
        expires = 0;
        now_ = version;
        send(*to, "ERROR",
             R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})");
        return to->end();
      }
      const auto& change = kHistory[version - kFirst];
      send(*to, change.type, object(change, version));
    }
  }
  // Ends the watches in good order.
  void endAll() {
    for (const auto& to : std::exchange(open_, {})) to->end();
  }

 private:
  static std::string object(const Change& change, int version) {
    return fmt::format(R"({{"metadata":{{"name":"{}","uid":"{}","resourceVersion":"{}"}}}})",
                       change.name, change.uid, version);
  }
  std::map<std::string, std::string> state() const {
    std::map<std::string, std::string> objects;
    for (int version = kFirst; version <= now_; ++version) {
      const auto& change = kHistory[version - kFirst];
      if (change.type == "DELETED") objects.erase(change.name);
      if (change.type == "ADDED" || change.type == "MODIFIED")
        objects[change.name] = object(change, version);
    }
    return objects;
  }
  std::string list() const {
    std::string items;
    for (const auto& [name, text] : state()) items += (items.empty() ? "" : ",") + text;
    const std::string all =
        fmt::format(R"({{"metadata":{{"resourceVersion":"{}"}},"items":[{}]}})", now_, items);
    return protobuf ? body(all) : all;
  }
  void send(net::Responder& to, std::string_view type, const std::string& object) const {
    to.write(std::make_shared<const std::string>(
        protobuf ? api::watchFrame(type, body(object))
                 : fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object)));
  }
  net::Headers head() const {
    return {{"Content-Type", protobuf ? std::string(api::kProtobufType) : "application/json"}};
  }
  static std::string body(const std::string& text) {
    const auto object = parseJson(text).value();
    const auto& types = api::sharedBuiltinTypes();
    if (textAt(object, "kind") == "Status")
      return api::sealEnvelope("v1", "Status",
                               api::encodeMessage(object, *types.find("Status")).message);
    const auto& kind = *types.find("ConfigMap");
    if (!find(object, "items"))
      return api::sealEnvelope("v1", "ConfigMap", api::encodeMessage(object, kind).message);
    return api::sealEnvelope("v1", "ConfigMapList",
                             api::encodeList(object, *types.find("ListMeta"), kind).message);
  }

  int now_ = kListed;
  std::vector<std::shared_ptr<net::Responder>> open_;
};

struct Outcome {
  std::vector<std::string> log;  // "+a 11"
  std::map<std::string, std::string> state;
  std::size_t bytes = 0;
};

Outcome follow(bool protobuf, bool streams, int expires, std::optional<std::size_t> cutAfter,
               bool proper) {
  VirtualLoop loop;
  Replay replay;
  replay.streams = streams;
  replay.protobuf = protobuf;
  replay.expires = expires;
  net::SimNetwork network(loop, Random(7));
  network.listen([&](net::ServerRequest request, std::shared_ptr<net::Responder> to) {
    replay.handle(request, to);
  });
  network.cutAfterBytes = cutAfter;
  network.cutsLookComplete = proper;
  HttpApi api(network, loop, {.server = "http://replay"});
  Outcome outcome;
  {
    Informer<api::ConfigMap> informer(api, loop);
    const auto note = [&](char what, const auto& object) {
      outcome.log.push_back(
          fmt::format("{}{} {}", what, object->metadata.name, object->metadata.resourceVersion));
    };
    informer.addHandler({[&](const auto& o) { note('+', o); },
                         [&](const auto&, const auto& o) { note('~', o); },
                         [&](const auto& o) { note('-', o); }});
    informer.start();
    loop.advance(10s);
    EXPECT_TRUE(informer.synced());
    for (const auto& object : informer.objects())
      outcome.state[object->metadata.name] = object->metadata.resourceVersion;
  }
  outcome.bytes = network.bytes;
  return outcome;
}

std::size_t stride(std::size_t usual) {
  return std::getenv("KOORD_FAULT_SEEDS") ? 1 : usual;
}

class WatchCutTest : public ::testing::TestWithParam<std::tuple<bool, bool, bool>> {
 protected:
  // Every attempt is logged, and there are thousands.
  static void SetUpTestSuite() { log::setup({.program = "test", .file = "/dev/null"}); }
  static void TearDownTestSuite() { log::setup({.program = "test"}); }
};

TEST_P(WatchCutTest, EveryChangeArrivesOnceAndInOrderWhereverTheConnectionIsCut) {
  const auto [protobuf, streams, proper] = GetParam();
  const std::vector<std::string> expected{"+a 11", "+b 12", "~a 13", "-b 12", "+b 15",
                                          "+c 17", "~b 18", "~c 19", "-a 13"};
  const Outcome whole = follow(protobuf, streams, 0, std::nullopt, proper);
  ASSERT_EQ(whole.log, expected);
  ASSERT_GT(whole.bytes, 500u);
  for (std::size_t place = 0; place < whole.bytes; place += stride(proper ? 5 : 1))
    ASSERT_EQ(follow(protobuf, streams, 0, place, proper).log, expected)
        << "cut after " << place << " bytes";
}

TEST_P(WatchCutTest, AfterAVersionExpiredTheStateIsStillThatOfTheServer) {
  const auto [protobuf, streams, proper] = GetParam();
  const Outcome whole = follow(protobuf, streams, 15, std::nullopt, proper);
  const std::map<std::string, std::string> expected{{"b", "18"}, {"c", "19"}};
  ASSERT_EQ(whole.state, expected);
  for (std::size_t place = 0; place < whole.bytes; place += stride(13)) {
    const Outcome outcome = follow(protobuf, streams, 15, place, proper);
    ASSERT_EQ(outcome.state, expected) << "cut after " << place << " bytes";
    // Versions of one object only grow, no matter how often it was listed.
    std::map<std::string, int> seen;
    for (const auto& line : outcome.log) {
      if (line[0] == '-') continue;
      const int version = std::stoi(line.substr(3));
      ASSERT_LT(std::exchange(seen[line.substr(1, 1)], version), version) << line;
    }
  }
}

// A proxy, say, takes the connection and never passes it on. The state is known already: a watch
// that begins with it is given up earlier (reflector.cc).
TEST(UnansweredWatch, IsTriedAgainAfterAMinute) {
  VirtualLoop loop;
  Replay replay;
  net::SimNetwork network(loop, Random(7));
  network.listen([&](net::ServerRequest request, std::shared_ptr<net::Responder> to) {
    replay.handle(request, to);
  });
  HttpApi api(network, loop, {.server = "http://replay"});
  Informer<api::ConfigMap> informer(api, loop);
  informer.start();
  loop.advance(30s);
  ASSERT_TRUE(informer.synced());
  ASSERT_EQ(network.requests, 1U);
  network.faults.swallow = 1;
  replay.endAll();
  loop.advance(5s);
  ASSERT_EQ(network.requests, 2U);
  network.faults.swallow = 0;
  loop.advance(50s);
  EXPECT_EQ(network.requests, 2U) << "a server may take a moment";
  loop.advance(10s);
  EXPECT_EQ(network.requests, 3U);
  loop.advance(5min);
  EXPECT_EQ(network.requests, 3U) << "an answer that has begun may be silent for long";
}

INSTANTIATE_TEST_SUITE_P(Servers, WatchCutTest,
                         ::testing::Combine(::testing::Bool(), ::testing::Bool(),
                                            ::testing::Bool()),
                         [](const auto& about) {
                           return std::string(std::get<0>(about.param) ? "Protobuf" : "Json") +
                                  (std::get<1>(about.param) ? "Streaming" : "Listing") +
                                  (std::get<2>(about.param) ? "EndedProperly" : "Broken");
                         });

}  // namespace
}  // namespace koord::kube
