#include "apiserver/server/system_objects.h"

#include <tuple>

#include "apiserver/authz/bootstrap_policy.h"
#include "apiserver/authz/rbac.h"
#include "apiserver/server/body.h"
#include "base/time.h"

namespace koord::apiserver {
namespace {

constexpr const char* kRootCa = "kube-root-ca.crt";
constexpr const char* kServiceAddress = "10.96.0.1";

std::string keyOf(const json::value& object) {
  return makeKey(textAt(object, "metadata", "namespace"), textAt(object, "metadata", "name"));
}

json::object named(const char* apiVersion, const char* kind, std::string_view namespace_,
                   std::string_view name) {
  json::object metadata{{"name", name}};
  if (!namespace_.empty()) metadata["namespace"] = namespace_;
  return {{"apiVersion", apiVersion}, {"kind", kind}, {"metadata", std::move(metadata)}};
}

const char* policyTable(std::string_view kind) {
  if (kind == "ClusterRole") return kClusterRoles;
  if (kind == "ClusterRoleBinding") return kClusterRoleBindings;
  return kind == "Role" ? kRoles : kRoleBindings;
}

bool isActive(const EntryPtr& namespace_) {
  return namespace_ && (namespace_->fields.empty() || namespace_->fields[0] != "Terminating");
}

}  // namespace

SystemObjects::SystemObjects(Executor& executor, Store& store, const Registry& registry,
                             Quotas& quotas, Random& random, Options options)
    : executor_(executor),
      store_(store),
      registry_(registry),
      quotas_(quotas),
      random_(random),
      options_(std::move(options)) {
  if (!options_.serviceAccounts) return;
  store_.observe(store_.table("namespaces"), [this](const Event& event) {
    if (event.type == EventType::Added && isActive(event.now)) addAccounts(event.now->key);
  });
  for (const char* table : {"serviceaccounts", "configmaps"})
    store_.observe(store_.table(table), [this](const Event& event) {
      if (event.now) return;
      const auto name = event.before->name();
      if (name != "default" && name != kRootCa) return;
      later([this, namespace_ = std::string(event.before->namespace_())] {
        if (isActive(store_.table("namespaces").find(namespace_))) addAccounts(namespace_);
      });
    });
  for (const char* table : {"services", "endpoints", "endpointslices.discovery.k8s.io"})
    store_.observe(store_.table(table), [this](const Event& event) {
      if (!event.now && event.before->key == "default/kubernetes")
        later([this] { addKubernetesService(); });
    });
}

// Runs fn in a later turn, after the deletion that caused it.
void SystemObjects::later(std::function<void()> fn) {
  executor_.post([alive = alive_, fn = std::move(fn)] {
    if (*alive) fn();
  });
}

void SystemObjects::add(const char* table, json::object object) {
  const auto resource = registry_.findByTable(table);
  json::value value = std::move(object);
  if (store_.table(table).find(keyOf(value))) return;
  auto& metadata = value.get_object()["metadata"].get_object();
  metadata["uid"] = newUid(random_);
  metadata["creationTimestamp"] = formatTime(executor_.wallNow());
  const auto entry = store_.put(store_.table(table), draftOf(value, *resource), value);
  quotas_.changed(*resource, entry->key, &value);
}

void SystemObjects::addAll() {
  addNamespaces();
  addPriorityClasses();
  if (options_.rbac) addPolicy();
  if (!options_.serviceAccounts) return;
  std::vector<std::string> active;
  for (const auto& [name, entry] : store_.table("namespaces").entries())
    if (isActive(entry)) active.push_back(name);
  for (const auto& name : active) addAccounts(name);
  addClientAuthority();
}

void SystemObjects::addNamespaces() {
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    auto object = named("v1", "Namespace", "", name);
    object["metadata"].get_object()["labels"] = {{"kubernetes.io/metadata.name", name}};
    object["spec"] = {{"finalizers", {"kubernetes"}}};
    object["status"] = {{"phase", "Active"}};
    add("namespaces", std::move(object));
  }
}

void SystemObjects::addPriorityClasses() {
  for (const auto& [name, priority, what] :
       {std::tuple{"system-cluster-critical", 2'000'000'000,
                   "Used for system critical pods that must run in the cluster, but can be moved "
                   "to another node if necessary."},
        std::tuple{
            "system-node-critical", 2'000'001'000,
            "Used for system critical pods that must not be moved from their current node."}}) {
    auto object = named("scheduling.k8s.io/v1", "PriorityClass", "", name);
    object["metadata"].get_object()["generation"] = 1;
    object["value"] = priority;
    object["description"] = what;
    object["preemptionPolicy"] = "PreemptLowerPriority";
    add("priorityclasses.scheduling.k8s.io", std::move(object));
  }
}

void SystemObjects::addPolicy() {
  for (const auto& wanted : bootstrapPolicy()) {
    const char* const table = policyTable(textAt(wanted, "kind"));
    const auto entry = store_.table(table).find(keyOf(wanted));
    if (!entry) {
      add(table, wanted.get_object());
      continue;
    }
    const auto existing = parseJson(entry->text);
    auto next = existing ? reconciled(*existing, wanted) : std::nullopt;
    if (next) store_.put(store_.table(table), draftOf(*next, *registry_.findByTable(table)), *next);
  }
}

void SystemObjects::addAccounts(const std::string& namespace_) {
  add("serviceaccounts", named("v1", "ServiceAccount", namespace_, "default"));
  if (options_.rootCaPem.empty()) return;
  auto object = named("v1", "ConfigMap", namespace_, kRootCa);
  object["metadata"].get_object()["annotations"] = {
      {"kubernetes.io/description",
       "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
       "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
       "guaranteed across distributions of Kubernetes clusters."}};
  object["data"] = {{"ca.crt", options_.rootCaPem}};
  // A new authority replaces the old one.
  const auto entry = store_.table("configmaps").find(makeKey(namespace_, kRootCa));
  auto existing = entry ? parseJson(entry->text) : Result<json::value>(json::value());
  if (entry && existing && textAt(*existing, "data", "ca.crt") != options_.rootCaPem) {
    existing->get_object()["data"] = object["data"];
    store_.put(store_.table("configmaps"), draftOf(*existing, *registry_.findByTable("configmaps")),
               *existing);
  }
  add("configmaps", std::move(object));
}

// Components read here which client certificates they can trust.
void SystemObjects::addClientAuthority() {
  if (options_.rootCaPem.empty()) return;
  auto object = named("v1", "ConfigMap", "kube-system", "extension-apiserver-authentication");
  object["data"] = {{"client-ca-file", options_.rootCaPem}};
  add("configmaps", std::move(object));
}

void SystemObjects::publish(const std::string& address, int port) {
  address_ = address;
  port_ = port;
  auto& slices = store_.table("endpointslices.discovery.k8s.io");
  // Left by an earlier run with another port.
  for (auto* table : {&store_.table("services"), &store_.table("endpoints"), &slices})
    if (const auto entry = table->find("default/kubernetes")) store_.erase(*table, entry);
  addKubernetesService();
}

void SystemObjects::addKubernetesService() {
  if (port_ == 0) return;
  auto service = named("v1", "Service", "default", "kubernetes");
  service["metadata"].get_object()["labels"] = {{"component", "apiserver"},
                                                {"provider", "kubernetes"}};
  service["spec"] = {
      {"clusterIP", kServiceAddress},
      {"clusterIPs", json::array{kServiceAddress}},
      {"internalTrafficPolicy", "Cluster"},
      {"ipFamilies", json::array{"IPv4"}},
      {"ipFamilyPolicy", "SingleStack"},
      {"ports", json::array{json::object{
                    {"name", "https"}, {"port", 443}, {"protocol", "TCP"}, {"targetPort", port_}}}},
      {"sessionAffinity", "None"},
      {"type", "ClusterIP"}};
  service["status"] = {{"loadBalancer", json::object{}}};
  add("services", std::move(service));

  const json::array ports{json::object{{"name", "https"}, {"port", port_}, {"protocol", "TCP"}}};
  auto endpoints = named("v1", "Endpoints", "default", "kubernetes");
  endpoints["metadata"].get_object()["labels"] = {
      {"endpointslice.kubernetes.io/skip-mirror", "true"}};
  endpoints["subsets"] = json::array{
      json::object{{"addresses", json::array{json::object{{"ip", address_}}}}, {"ports", ports}}};
  add("endpoints", std::move(endpoints));

  auto slice = named("discovery.k8s.io/v1", "EndpointSlice", "default", "kubernetes");
  slice["metadata"].get_object()["labels"] = {{"kubernetes.io/service-name", "kubernetes"}};
  slice["addressType"] = "IPv4";
  slice["endpoints"] = json::array{json::object{{"addresses", json::array{address_}},
                                                {"conditions", json::object{{"ready", true}}}}};
  slice["ports"] = ports;
  add("endpointslices.discovery.k8s.io", std::move(slice));
}

}  // namespace koord::apiserver
