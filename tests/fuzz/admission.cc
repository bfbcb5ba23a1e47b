// Admission reviews as an API server, or another client of the port, may send them: every webhook
// answers every review, with the uid that it was asked with, and a patch that it gives can be
// applied.

#include "api/patch/json_patch.h"
#include "apiserver/local_api.h"
#include "base/file.h"
#include "base/virtual_loop.h"
#include "base/yaml.h"
#include "fuzz.h"
#include "kube/client.h"
#include "manager/webhook/webhooks.h"
#include "net/tls.h"

namespace koord::fuzz {

namespace {

using namespace std::chrono_literals;

// A server with a namespace and what matches pods; made once, since reviews change nothing.
class World {
 public:
  World() {
    for (const char* gate :
         {"NodeMutatingWebhook", "NodeValidatingWebhook", "ConfigMapValidatingWebhook",
          "ReservationMutatingWebhook", "BindingAdmissionWebhook", "ValidatePodDeviceResource",
          "MultiQuotaTree", "EnableQuotaAdmission"})
      check(options_.gates.set(std::string(gate) + "=true").has_value(), "the gate is known");
    options_.binding.userNames = "koord-scheduler";
    options_.binding.namespaces = "*";
    server_ = apiserver::Server::open(loop_, {.inlineCommits = true}).value();
    api_ = std::make_unique<apiserver::LocalApi>(*server_, loop_);
    fill();
    webhooks_ = std::make_unique<manager::Webhooks>(*api_, loop_, metrics_, Random(1), options_);
    webhooks_->start();
    check(loop_.advanceUntil([&] { return webhooks_->synced(); }, 1min), "the webhooks know all");
  }
  // What ends here still crosses over to the server.
  ~World() {
    webhooks_.reset();
    loop_.runReady();
    api_.reset();
    loop_.runReady();
  }

  void ask(const api::AdmissionReview& review) {
    for (const auto& [path, handler] : webhooks_->handlers()) {
      std::optional<manager::Verdict> verdict;
      TaskGroup tasks;
      tasks.spawn(keep(handler(*review.request), &verdict));
      check(loop_.advanceUntil([&] { return verdict.has_value(); }, 1min), "there is an answer");
      answered(review, *verdict);
    }
  }

 private:
  static Task<void> keep(Task<manager::Verdict> task, std::optional<manager::Verdict>* into) {
    auto verdict = co_await task;
    *into = std::move(verdict);
  }
  static Task<void> done(Task<Result<json::value>> task, bool* done) {
    const auto result = co_await task;
    *done = result.has_value();
  }
  void fill() {
    for (const char* crd :
         {"config.koordinator.sh_clustercolocationprofiles",
          "quota.koordinator.sh_elasticquotaprofiles", "scheduling.sigs.k8s.io_elasticquotas"}) {
      const auto text = readFile(std::string(KOORD_DEPLOY) + "/crds/" + crd + ".yaml");
      put({"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition",
           false},
          toJson(parseYaml(text.value()).value()));
    }
    put(api::Namespace::kType, R"({"metadata":{"name":"demo"}})");
    put(api::PriorityClass::kType, R"({"metadata":{"name":"koord-batch"},"value":5000})");
    // Of everything that a profile can do, to every pod.
    put(api::ClusterColocationProfile::kType, R"({"metadata":{"name":"all"},"spec":{
        "selector":{},"qosClass":"BE","priorityClassName":"koord-batch","koordinatorPriority":7,
        "labels":{"a":"b"},"annotations":{"a":"b"},"labelKeysMapping":{"a":"c"},
        "annotationKeysMapping":{"a":"c"},"labelSuffixes":{"a":"-x"},"schedulerName":"s",
        "patch":{"spec":{"containers":[{"name":"a","env":[{"name":"A","value":"b"}]}]}}}})");
    put(api::ElasticQuota::kType, R"({"metadata":{"namespace":"demo","name":"parent","labels":{
        "quota.scheduling.koordinator.sh/is-parent":"true"}},
        "spec":{"min":{"cpu":"8"},"max":{"cpu":"10"}}})");
    put(api::ElasticQuota::kType, R"({"metadata":{"namespace":"demo","name":"demo","labels":{
        "quota.scheduling.koordinator.sh/parent":"parent"}},
        "spec":{"min":{"cpu":"2"},"max":{"cpu":"10"}}})");
  }
  void put(const api::ResourceType& type, std::string_view text) {
    bool created = false;
    TaskGroup tasks;
    const api::ObjectKey key{type.namespaced ? "demo" : "", ""};
    tasks.spawn(done(kube::createObject(*api_, type, key, parseJson(text).value()), &created));
    loop_.advance(1s);
    check(created, "the world is made");
  }
  static void answered(const api::AdmissionReview& review, const manager::Verdict& verdict) {
    const auto text = manager::writeReview(review.apiVersion, review.request->uid, verdict);
    const auto answer = parseJson(text);
    check(answer.has_value(), "the answer is JSON");
    check(textAt(*answer, "response", "uid") == review.request->uid, "it is for this review");
    check(verdict.allowed || !verdict.message.empty(), "a refusal says why");
    if (verdict.patch.empty()) return;
    check(verdict.allowed, "what is refused is not changed");
    check(api::applyJsonPatch(review.request->object, verdict.patch).has_value(),
          "the patch can be applied");
  }

  VirtualLoop loop_;
  manager::Metrics metrics_;
  manager::WebhooksOptions options_;
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<apiserver::LocalApi> api_;
  std::unique_ptr<manager::Webhooks> webhooks_;
};

}  // namespace

void admission(std::string_view input) {
  const auto review = manager::readReview(input);
  if (!review) return;
  static World world;
  world.ask(*review);
}

}  // namespace koord::fuzz
