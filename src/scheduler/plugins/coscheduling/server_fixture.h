#pragma once

// Gangs on an API that handles writes as a server does: it keeps nominated nodes in the pods'
// status, and deleted pods for their grace period.

#include <map>
#include <string>

#include "scheduler/plugins/coscheduling/gang_fixture.h"

namespace koord::scheduler::testing {

struct ServerFixture : GangFixture {
  explicit ServerFixture(json::value args = json::object()) : GangFixture(std::move(args)) {
    api.answer = [this](const kube::Request& request) { return serve(request); };
  }
  Result<std::string> serve(const kube::Request& request) {
    const auto found = pods.find(request.name);
    if (found != pods.end() && request.subresource == "status") {
      const auto body = parseJson(request.body);
      const auto* status = body ? at(*body, "status") : nullptr;
      if (status && status->is_object()) keepStatus(*found->second, status->get_object());
    }
    if (found != pods.end() && request.resource == "pods" && request.verb == kube::Verb::Delete) {
      deletions.push_back(request.name);
      leave(request.name);
      return "{}";
    }
    return answer(request);
  }
  // The pod is terminating until its grace period is over.
  void leave(const std::string& name) {
    auto leaving = std::make_shared<api::Pod>(*pods.at(name));
    if (leaving->metadata.deletionTimestamp) return;
    const auto time = grace.find(name);
    if (time == grace.end()) return remove(name);
    leaving->metadata.deletionTimestamp = loop.wallNow();
    touch(*leaving);
    replace(leaving);
    loop.runAfter(time->second, [this, name, uid = leaving->metadata.uid] {
      if (pods.contains(name) && pods.at(name)->metadata.uid == uid) remove(name);
    });
  }
  void update(const std::string& name, const std::function<void(api::Pod&)>& change) {
    auto changed = std::make_shared<api::Pod>(*pods.at(name));
    change(*changed);
    touch(*changed);
    replace(changed);
  }
  void end(const std::string& name, const char* phase) {
    update(name, [&](api::Pod& pod) { pod.status.phase = phase; });
  }
  void budget(const std::string& name, int allowed) {
    api::PodDisruptionBudget object;
    object.metadata.name = name;
    object.metadata.namespace_ = "default";
    object.spec.selector.emplace().matchLabels["budget"] = name;
    object.status.disruptionsAllowed = allowed;
    scheduler->stores().of<api::PodDisruptionBudget>().set(
        std::make_shared<const api::PodDisruptionBudget>(object));
  }
  PodBuilder running(const std::string& name, const char* cpu, int priority,
                     const std::string& node = "n1") {
    return aPod(name).request("cpu", cpu).priority(priority).nodeName(node);
  }
  void guarded(const std::string& name, const char* cpu, int priority, const char* budget,
               const std::string& node = "n1") {
    create(running(name, cpu, priority, node).label("budget", budget));
  }
  std::string nominated(const std::string& pod) {
    return pods.at(pod)->status.nominatedNodeName.str();
  }

  std::map<std::string, Duration> grace;  // by pod; other pods end at once

 private:
  void touch(api::Pod& pod) { pod.metadata.resourceVersion = std::to_string(++version_); }
  void keepStatus(const api::Pod& before, const json::object& status) {
    auto after = std::make_shared<api::Pod>(before);
    bool changed = false;
    if (const auto* node = status.if_contains("nominatedNodeName")) {
      after->status.nominatedNodeName =
          node->is_string() ? std::string(node->get_string()) : std::string();
      changed = true;
    }
    if (const auto* list = status.if_contains("conditions"); list && list->is_array()) {
      for (const json::value& item : list->get_array()) {
        if (textAt(item, "type") != "DisruptionTarget") continue;
        api::PodCondition condition;
        condition.type = "DisruptionTarget";
        condition.status = "True";
        condition.reason = std::string(textAt(item, "reason"));
        after->status.conditions.push_back(condition);
        changed = true;
      }
    }
    if (!changed) return;
    touch(*after);
    replace(after);
  }
  int version_ = 1000;
};

}  // namespace koord::scheduler::testing
