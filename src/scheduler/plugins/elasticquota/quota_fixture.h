#pragma once

// A whole scheduler with ElasticQuota, on an API that stores quotas, for the plugin's tests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/well_known.h"
#include "scheduler/core/scheduler_fixture.h"
#include "scheduler/plugins/elasticquota/plugin.h"
#include "scheduler/plugins/elasticquota/summary.h"

namespace koord::scheduler::testing {

class QuotaBuilder {
 public:
  explicit QuotaBuilder(std::string name, std::string namespace_ = "teams") {
    quota_.metadata.name = std::move(name);
    quota_.metadata.namespace_ = std::move(namespace_);
    quota_.metadata.uid = "uid-" + quota_.metadata.name;
    quota_.metadata.resourceVersion = "1";
  }
  QuotaBuilder& max(const std::string& resource, std::string_view amount) {
    quota_.spec.max[resource] = quantity(amount);
    return *this;
  }
  QuotaBuilder& min(const std::string& resource, std::string_view amount) {
    quota_.spec.min[resource] = quantity(amount);
    return *this;
  }
  QuotaBuilder& below(std::string parent) { return label(model::kLabelQuotaParent, parent); }
  QuotaBuilder& label(std::string_view key, std::string value) {
    quota_.metadata.labels[std::string(key)] = std::move(value);
    return *this;
  }
  QuotaBuilder& annotate(std::string_view key, std::string value) {
    quota_.metadata.annotations[std::string(key)] = std::move(value);
    return *this;
  }
  api::ElasticQuota& object() { return quota_; }

 private:
  api::ElasticQuota quota_;
};

inline QuotaBuilder aQuota(std::string name, std::string namespace_ = "teams") {
  return QuotaBuilder(std::move(name), std::move(namespace_));
}

struct QuotaFixture : SchedulerFixture {
  std::map<std::string, std::shared_ptr<const api::ElasticQuota>> quotas;
  std::vector<std::string> written;  // names of quotas that were patched
  std::vector<std::string> evicted;
  std::function<Result<std::string>(const std::string& pod)> beforeEviction;

  // args: the text after "args:", in flow style.
  explicit QuotaFixture(const std::string& args = "{}", std::set<std::string, std::less<>> on = {})
      : SchedulerFixture(configured(args)) {
    gates = std::move(on);
    create();
    api.answer = [this](const kube::Request& request) { return answerAll(request); };
    scheduler->start();
  }
  using SchedulerFixture::create;

  static SchedulerConfiguration configured(const std::string& args) {
    auto read = parseConfiguration(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint: {enabled: [{name: ElasticQuota}]}
    postFilter: {disabled: [{name: "*"}], enabled: [{name: ElasticQuota}, {name: DefaultPreemption}]}
  pluginConfig:
  - name: ElasticQuota
    args: )" + args + "\n");
    EXPECT_TRUE(read) << read.error().message;
    return *std::move(read);
  }

  Result<std::string> answerAll(const kube::Request& request) {
    if (request.resource == "elasticquotas") return answerQuota(request);
    if (request.subresource == "eviction") {
      if (beforeEviction) {
        if (auto refused = beforeEviction(request.name); !refused) return refused;
      }
      evicted.push_back(request.name);
      remove(request.name);
      return "{}";
    }
    return answer(request);
  }
  Result<std::string> answerQuota(const kube::Request& request) {
    const auto body = parseJson(request.body);
    if (request.verb == kube::Verb::Create) {
      auto quota = api::decode<api::ElasticQuota>(*body);
      set(*quota);
      return request.body;
    }
    const auto it = quotas.find(request.name);
    if (it == quotas.end()) return fail(ErrorCode::NotFound, "no such quota");
    written.push_back(request.name);
    api::ElasticQuota after = *it->second;
    after.metadata.resourceVersion += "p";
    if (const auto* annotations = at(*body, "metadata", "annotations"))
      for (const auto& member : annotations->get_object())
        after.metadata.annotations[std::string(member.key())] =
            std::string(member.value().get_string());
    if (const auto* used = at(*body, "status", "used"))
      for (const auto& member : used->get_object())
        if (member.value().is_string())
          after.status.used[std::string(member.key())] =
              *Quantity::parse(std::string(member.value().get_string()));
    set(after);
    return toJson(api::encodeObject(after));
  }

  void set(const api::ElasticQuota& quota) {
    auto object = std::make_shared<const api::ElasticQuota>(quota);
    quotas[quota.metadata.name] = object;
    loop.post([this, object] { scheduler->stores().of<api::ElasticQuota>().set(object); });
  }
  void set(QuotaBuilder& quota) { set(quota.object()); }
  void set(QuotaBuilder&& quota) { set(quota.object()); }
  void drop(const std::string& name) {
    const auto key = api::keyOf(quotas.at(name)->metadata);
    quotas.erase(name);
    loop.post([this, key] { scheduler->stores().of<api::ElasticQuota>().erase(key); });
  }
  static PodBuilder of(const std::string& pod, const std::string& quota, std::string_view cpu) {
    PodBuilder builder = aPod(pod);
    builder.request("cpu", cpu);
    if (!quota.empty()) builder.label(std::string(model::kLabelQuotaName), quota);
    return builder;
  }

  ElasticQuota& plugin() {
    for (const auto& [name, runtime] : scheduler->profiles())
      for (const auto& plugin : runtime->profile().plugins)
        if (auto* found = dynamic_cast<ElasticQuota*>(plugin.get())) return *found;
    throw std::logic_error("no plugin");
  }
  // The answer of a route of the plugin.
  json::value ask(const std::string& path, const api::StringMap& query = {}) {
    for (const auto& route : plugin().routes()) {
      const bool exact = !route.path.ends_with('/');
      if (exact ? path != route.path : !path.starts_with(route.path)) continue;
      const std::string rest = path.substr(route.path.size());
      auto answered = route.ask ? route.ask(rest, query) : route.answer(rest);
      if (!answered) return json::value(json::object{{"message", answered.error().message}});
      return *std::move(answered);
    }
    return nullptr;
  }
  // "used" of "q" in "cpu"
  std::string amount(const std::string& quota, const char* field, const char* resource = "cpu") {
    return std::string(textAt(ask("quotas/" + quota), field, resource));
  }
  std::string annotation(const std::string& quota, std::string_view key) {
    const auto* text = api::findIn(quotas.at(quota)->metadata.annotations, key);
    return text ? *text : "";
  }
  int placed(const std::string& prefix) {
    int count = 0;
    for (const auto& [name, pod] : pods)
      count += name.starts_with(prefix) && !pod->spec.nodeName.empty();
    return count;
  }
  std::string lastCondition(const std::string& pod) {
    for (auto it = conditions.rbegin(); it != conditions.rend(); ++it)
      if (it->starts_with(pod + " ")) return *it;
    return "";
  }
  void expectSound() {
    const Cluster& cluster = scheduler->cluster();
    cluster.live().forEach([&](NodeId node) { EXPECT_EQ(cluster.verifyNode(node), ""); });
    ask("quotas");
    for (const Ledger* ledger : cluster.ledgers()) {
      if (ledger->name() != "quotas") continue;
      Quotas& state = plugin().quotasForTests();
      EXPECT_EQ(state.verifyRequests(), "");
      for (const auto& [id, tree] : state.trees()) EXPECT_EQ(tree->quotas().verify(), "");
    }
  }
};

}  // namespace koord::scheduler::testing
