#pragma once

// A scheduler with a fake API that a few switches control, for tests of the whole scheduler on
// virtual time.

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/codec.h"
#include "base/virtual_loop.h"
#include "kube/fake_api.h"
#include "net/testing/sim_network.h"
#include "scheduler/core/scheduler.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/testing/builders.h"

namespace koord::scheduler::testing {

// Delivers the events that an informer would deliver.
struct SchedulerFixture {
  VirtualLoop loop;
  kube::FakeApi api{loop};
  net::SimNetwork network{loop, Random(1)};  // where extenders run
  std::unique_ptr<Scheduler> scheduler;
  std::map<std::string, std::shared_ptr<const api::Pod>> pods;  // by name, as in the API
  std::map<std::string, int> bindings;                          // per pod
  std::vector<std::string> events;                              // "reason: note"
  std::vector<std::string> conditions;                          // "pod reason: message"
  std::vector<std::string> deletions;                           // names, in order
  std::function<Result<std::string>(const std::string& pod)> beforeBind;
  bool losesReplies = false;
  bool graceful = false;  // pods keep the status that is written, and terminate until remove()
  Observer* observer = nullptr;    // for the next create()
  WorkloadAudit* audit = nullptr;  // likewise
  std::vector<std::string> controllerPlugins{"*"};
  std::optional<std::set<std::string, std::less<>>> gates;  // absent = the defaults
  Registry registry = makeRegistry();

  explicit SchedulerFixture(SchedulerConfiguration configuration = defaultConfiguration()) {
    api.answer = [this](const kube::Request& request) { return answer(request); };
    configuration_ = std::move(configuration);
    create();
  }
  void create() {
    scheduler.reset();
    SchedulerOptions options;
    options.configuration = configuration_;
    options.http = &network;
    options.controllerPlugins = controllerPlugins;
    if (gates) options.gates = *gates;
    options.audit = audit;
    auto made = Scheduler::create(options, registry, loop, &api, observer);
    ASSERT_TRUE(made) << made.error().message;
    scheduler = *std::move(made);
  }

  Result<std::string> answer(const kube::Request& request) {
    if (request.resource == "events") {
      const auto event = parseJson(request.body);
      if (event && at(*event, "message"))
        events.push_back(std::string(textAt(*event, "reason")) + ": " +
                         std::string(textAt(*event, "message")));
      return "{}";
    }
    const auto found = pods.find(request.name);
    if (found == pods.end())
      return fail(ErrorCode::NotFound, "pods \"" + request.name + "\" not found");
    if (request.subresource == "binding") {
      if (beforeBind) {
        if (auto refused = beforeBind(request.name); !refused) return refused;
      }
      const auto body = parseJson(request.body);
      if (!body) return fail(ErrorCode::BadRequest, body.error().message);
      if (!found->second->spec.nodeName.empty()) return fail(ErrorCode::Conflict, "already bound");
      auto bound = std::make_shared<api::Pod>(*found->second);
      bound->spec.nodeName = textAt(*body, "target", "name");
      bound->metadata.resourceVersion += "0";
      if (const auto* added = at(*body, "metadata", "annotations"))
        for (const auto& member : added->get_object())
          bound->metadata.annotations[member.key()] = std::string(member.value().get_string());
      ++bindings[request.name];
      replace(bound);
      if (losesReplies) return fail(ErrorCode::Unavailable, "connection reset");
      return "{}";
    }
    if (request.verb == kube::Verb::Delete) {
      deletions.push_back(request.name);
      graceful ? end(request.name) : remove(request.name);
      return "{}";
    }
    if (request.subresource == "status") {
      const auto body = parseJson(request.body);
      if (!body) return fail(ErrorCode::BadRequest, body.error().message);
      if (const auto* list = at(*body, "status", "conditions"); list && list->is_array()) {
        const auto& condition = list->get_array()[0];
        conditions.push_back(request.name + " " + std::string(textAt(condition, "reason")) + ": " +
                             std::string(textAt(condition, "message")));
      }
      if (graceful) keepStatus(request.name, *body);
      return "{}";
    }
    return toJson(api::encodeObject(*found->second));
  }
  void replace(std::shared_ptr<const api::Pod> after) {
    auto& slot = pods[after->metadata.name];
    const auto before = std::exchange(slot, after);
    loop.post([this, before, after] {
      if (before) {
        scheduler->podUpdated(before, after);
      } else {
        scheduler->podAdded(after);
      }
    });
  }
  // Applies what preemption writes.
  void keepStatus(const std::string& name, const json::value& patch) {
    auto after = std::make_shared<api::Pod>(*pods.at(name));
    after->metadata.resourceVersion += "0";
    const json::value* node = at(patch, "status", "nominatedNodeName");
    if (node)
      after->status.nominatedNodeName = node->is_string() ? std::string(node->get_string()) : "";
    const json::value* list = at(patch, "status", "conditions");
    const bool leaves =
        list && list->is_array() && textAt(list->get_array()[0], "type") == "DisruptionTarget";
    if (leaves) {
      api::PodCondition condition;
      condition.type = "DisruptionTarget";
      condition.status = textAt(list->get_array()[0], "status");
      condition.reason = textAt(list->get_array()[0], "reason");
      after->status.conditions.push_back(std::move(condition));
    }
    if (node || leaves) replace(after);
  }
  // The pod terminates, with ten minutes of grace.
  void end(const std::string& name) {
    auto after = std::make_shared<api::Pod>(*pods.at(name));
    after->metadata.resourceVersion += "0";
    after->metadata.deletionTimestamp = loop.wallNow() + std::chrono::minutes(10);
    replace(after);
  }
  void create(const PodBuilder& pod) { replace(pod.build()); }
  void remove(const std::string& name) {
    const auto pod = pods[name];
    pods.erase(name);
    loop.post([this, pod] { scheduler->podDeleted(pod); });
  }
  void node(const NodeBuilder& node) { scheduler->nodeAdded(node.build()); }
  std::string nodeOf(const std::string& pod) { return pods.at(pod)->spec.nodeName; }
  void run(Duration time = std::chrono::seconds(5)) { loop.advance(time); }

  SchedulerConfiguration configuration_;
};

}  // namespace koord::scheduler::testing
