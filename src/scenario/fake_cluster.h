#pragma once

// A cluster for the tests of the runner: objects in a map, plain writes and merge patches, virtual
// time. Nothing changes by itself; a test can set timers that change objects.

#include <map>
#include <set>

#include "base/virtual_loop.h"
#include "kube/fake_api.h"
#include "scenario/environment.h"

namespace koord::scenario {

class FakeCluster final : public Environment {
 public:
  FakeCluster() : api_(loop) {
    api_.answer = [this](const kube::Request& r) { return answer(r); };
  }

  kube::Api& api() override { return api_; }
  Executor& executor() override { return loop; }
  bool advanceUntil(const std::function<bool()>& done, Duration limit) override {
    return loop.advanceUntil(done, limit);
  }

  // "pods/ns/name" -> object
  std::map<std::string, json::value> objects;
  // The errors of creates and patches, by resource.
  std::map<std::string, Error> refused;
  // Deletions of these resources keep the object, as a finalizer does.
  std::set<std::string> sticky;
  VirtualLoop loop;

  std::vector<std::string> calls() const {
    static constexpr const char* kVerbs[] = {"get",    "list",  "watch",  "create",
                                             "update", "patch", "delete", "deletecollection"};
    std::vector<std::string> result;
    for (const auto& r : api_.calls) {
      result.push_back(std::string(kVerbs[static_cast<int>(r.verb)]) + " " +
                       keyOf(r.resource, r.namespace_, r.name));
    }
    return result;
  }

 private:
  static std::string keyOf(const std::string& resource, const std::string& space,
                           const std::string& name) {
    return resource + "/" + (space.empty() ? "" : space + "/") + name;
  }

  static void merge(json::value& target, const json::value& patch) {
    const auto* members = patch.if_object();
    if (!members) {
      target = patch;
      return;
    }
    if (!target.is_object()) target = json::object();
    for (const auto& member : *members) {
      if (member.value().is_null()) {
        target.get_object().erase(member.key());
      } else {
        merge(target.get_object()[member.key()], member.value());
      }
    }
  }

  static bool matches(const json::value& object, const std::string& selector) {
    if (selector.empty()) return true;
    const auto equals = selector.find('=');
    return textAt(object, "metadata", "labels", selector.substr(0, equals)) ==
           selector.substr(equals + 1);
  }

  Result<std::string> answer(const kube::Request& request) {
    const std::string key = keyOf(request.resource, request.namespace_, request.name);
    const auto it = objects.find(key);
    const auto missing = [&] { return fail(ErrorCode::NotFound, key + " not found"); };
    const bool writes = request.verb == kube::Verb::Create || request.verb == kube::Verb::Patch;
    if (const auto no = refused.find(request.resource); writes && no != refused.end())
      return fail(no->second);
    switch (request.verb) {
      case kube::Verb::List: {
        json::array items;
        for (const auto& [name, object] : objects) {
          const std::string prefix = keyOf(request.resource, request.namespace_, "");
          const auto selector = request.query.find("labelSelector");
          const bool wanted = selector == request.query.end() || matches(object, selector->second);
          if (name.starts_with(prefix) && wanted) items.push_back(object);
        }
        return toJson(json::object{{"metadata", json::object{}}, {"items", std::move(items)}});
      }
      case kube::Verb::Create: {
        auto object = *parseJson(request.body);
        const std::string name(textAt(object, "metadata", "name"));
        const std::string full = keyOf(request.resource, request.namespace_, name);
        if (objects.contains(full)) return fail(ErrorCode::AlreadyExists, full + " already exists");
        object.get_object()["metadata"].get_object()["uid"] = "uid-" + std::to_string(++uids_);
        objects[full] = object;
        return toJson(object);
      }
      case kube::Verb::Update:
      case kube::Verb::Patch:
        if (it == objects.end()) return missing();
        if (request.verb == kube::Verb::Patch) {
          merge(it->second, *parseJson(request.body));
        } else {
          it->second = *parseJson(request.body);
        }
        return toJson(it->second);
      case kube::Verb::Delete:
        if (it == objects.end()) return missing();
        if (sticky.contains(request.resource)) {
          auto& metadata = it->second.get_object()["metadata"].get_object();
          metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z";
          metadata["finalizers"] = json::array{"test/hold"};
        } else {
          objects.erase(it);
        }
        return std::string("{}");
      default:
        return it == objects.end() ? Result<std::string>(missing()) : toJson(it->second);
    }
  }

  kube::FakeApi api_;
  int uids_ = 0;
};

}  // namespace koord::scenario
