#pragma once

// Helpers for the tests of this folder: a server on virtual time, and calls in one line.

#include <gtest/gtest.h>

#include <list>
#include <string>
#include <vector>

#include "apiserver/route.h"
#include "apiserver/server/server.h"
#include "base/virtual_loop.h"

namespace koord::apiserver::testing {

struct Answer {
  int status = 0;
  json::value body;
  std::vector<std::string> warnings;
  std::map<std::string, std::string> auditAnnotations;

  std::string message() const { return std::string(textAt(body, "message")); }
  std::string reason() const { return std::string(textAt(body, "reason")); }
};

// Events of one watch as "ADDED name version-independent" pairs.
struct WatchLog {
  std::vector<std::string> lines;  // "ADDED web", "BOOKMARK ", "ERROR "
  std::vector<json::value> objects;
  std::vector<Error> ended;
  std::unique_ptr<WatchStream> stream;
};

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override { openServer(); }

  void openServer() {
    auto opened = Server::open(loop, options);
    ASSERT_TRUE(opened) << opened.error().message;
    server = *std::move(opened);
    loop.runReady();
  }

  static Task<void> collect(Server* server, Call call, Answer* answer) {
    auto serving = server->serve(std::move(call));
    auto reply = co_await serving;
    answer->status = reply.status;
    answer->warnings = reply.warnings;
    answer->auditAnnotations = reply.auditAnnotations;
    if (auto body = parseJson(*reply.body)) answer->body = *std::move(body);
  }

  static Call routed(const std::string& method, const std::string& path, std::string body,
                     const std::string& contentType, const std::string& accept) {
    net::ServerRequest request;
    request.method = method;
    request.target = path;
    request.body = std::move(body);
    if (!contentType.empty()) request.headers.push_back({"Content-Type", contentType});
    if (!accept.empty()) request.headers.push_back({"Accept", accept});
    auto target = net::parseTarget(path);
    auto call = routeCall(request, *target);
    if (call && *call) return **call;
    ADD_FAILURE() << method << " " << path
                  << " is not a call: " << (call ? call->error().error.message : "no such path");
    return {};
  }

  // Sends one request and runs everything that needs no time to pass.
  Answer request(const std::string& method, const std::string& path, std::string body = "",
                 const std::string& contentType = "", const std::string& accept = "") {
    auto answer = std::make_shared<Answer>();
    answers.push_back(answer);
    tasks.spawn(collect(server.get(), routed(method, path, std::move(body), contentType, accept),
                        answer.get()));
    loop.runReady();
    return *answer;
  }
  Answer get(const std::string& path, const std::string& accept = "") {
    return request("GET", path, "", "", accept);
  }
  Answer post(const std::string& path, const std::string& body) {
    return request("POST", path, body);
  }
  Answer put(const std::string& path, const json::value& body) {
    return request("PUT", path, toJson(body));
  }
  Answer remove(const std::string& path, const std::string& body = "") {
    return request("DELETE", path, body);
  }
  Answer mergePatch(const std::string& path, const std::string& body) {
    return request("PATCH", path, body, "application/merge-patch+json");
  }
  Answer strategicPatch(const std::string& path, const std::string& body) {
    return request("PATCH", path, body, "application/strategic-merge-patch+json");
  }
  Answer jsonPatch(const std::string& path, const std::string& body) {
    return request("PATCH", path, body, "application/json-patch+json");
  }

  WatchLog& watch(const std::string& path, const std::string& accept = "") {
    auto& log = logs.emplace_back();
    LineSink sink;
    sink.onLine = [&log](const Bytes& line) {
      EXPECT_EQ(line->back(), '\n');
      auto event = parseJson(*line);
      ASSERT_TRUE(event) << *line;
      const json::value object = *find(*event, "object");
      log.lines.push_back(std::string(textAt(*event, "type")) + " " +
                          std::string(textAt(object, "metadata", "name")));
      log.objects.push_back(object);
    };
    sink.onEnd = [&log](Error error) { log.ended.push_back(std::move(error)); };
    const auto separator = path.find('?') == std::string::npos ? "?" : "&";
    auto stream = server->watch(routed("GET", path + separator + "watch=true", "", "", accept),
                                std::move(sink));
    if (stream) {
      log.stream = *std::move(stream);
    } else {
      log.ended.push_back(stream.error().error);
    }
    loop.runReady();
    return log;
  }

  static std::string pod(const std::string& name, const std::string& more = "",
                         const std::string& labels = "{}") {
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name + R"(","labels":)" +
           labels + R"(},"spec":{"containers":[{"name":"main","image":"busybox"}])" + more + "}}";
  }

  static constexpr const char* kPods = "/api/v1/namespaces/default/pods";

  VirtualLoop loop;
  ServerOptions options;
  std::list<std::shared_ptr<Answer>> answers;
  std::unique_ptr<Server> server;
  std::list<WatchLog> logs;
  TaskGroup tasks;
};

}  // namespace koord::apiserver::testing
