#include "apiserver/pod_stream.h"

#include <gtest/gtest.h>

namespace koord::apiserver {
namespace {

TEST(PodStream, OptionsAreTheQueryAndBack) {
  const net::QueryParams query = {{"container", "main"}, {"stdin", "true"}, {"tty", "true"},
                                  {"command", "sh"},     {"command", "-c"}, {"command", "a b"}};
  const auto options = streamOptions("exec", query);
  EXPECT_EQ(toJson(options),
            R"({"kind":"PodExecOptions","apiVersion":"v1","container":"main","stdin":true,)"
            R"("tty":true,"command":["sh","-c","a b"]})");
  EXPECT_EQ(streamQuery(options), query);
  EXPECT_EQ(toJson(streamOptions("portforward", {{"ports", "80"}, {"ports", "x"}})),
            R"({"kind":"PodPortForwardOptions","apiVersion":"v1","ports":[80]})");
}

TEST(PodStream, FlagsWithoutAValueAreSetAndOthersIgnored) {
  const auto options = streamOptions(
      "attach",
      {{"stdin", ""}, {"stdout", "1"}, {"stderr", "false"}, {"command", "x"}, {"y", "1"}});
  EXPECT_EQ(toJson(options),
            R"({"kind":"PodAttachOptions","apiVersion":"v1","stdin":true,"stdout":true})");
}

TEST(PodStream, TheFirstOfSeveralFlagsCounts) {
  EXPECT_EQ(
      toJson(streamOptions(
          "attach", {{"stdin", "False"}, {"stdin", "true"}, {"stdout", "yes"}, {"stdout", "0"}})),
      R"({"kind":"PodAttachOptions","apiVersion":"v1","stdout":true})");
}

TEST(PodStream, OnlySomeSubresourcesOfPodsAreStreams) {
  kube::Request request;
  request.resource = "pods";
  request.subresource = "exec";
  request.verb = kube::Verb::Get;
  EXPECT_TRUE(isPodStream(request));
  request.verb = kube::Verb::Patch;
  EXPECT_FALSE(isPodStream(request));
  request.verb = kube::Verb::Create;
  request.subresource = "eviction";
  EXPECT_FALSE(isPodStream(request));
}

}  // namespace
}  // namespace koord::apiserver
