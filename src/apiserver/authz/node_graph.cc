#include "apiserver/authz/node_graph.h"

#include <algorithm>

#include "apiserver/objects/edit.h"
#include "model/well_known.h"

namespace koord::apiserver {
namespace {

constexpr const char* kVolumes = "persistentvolumes";
constexpr const char* kClaims = "persistentvolumeclaims";
constexpr const char* kAttachments = "volumeattachments.storage.k8s.io";
constexpr const char* kSlices = "resourceslices.resource.k8s.io";

void add(std::set<std::string, std::less<>>& names, std::string_view name) {
  if (!name.empty()) names.emplace(name);
}

template <class Visit>
void forEach(const json::value& object, std::string_view list, const Visit& visit) {
  if (const auto* items = arrayAt(object, list))
    for (const auto& item : *items) visit(item);
}

// Kinds of volumes that name a secret of the pod's namespace, and the field.
constexpr std::pair<const char*, const char*> kVolumeSecrets[] = {
    {"cephfs", "secretRef"},    {"cinder", "secretRef"},        {"flexVolume", "secretRef"},
    {"rbd", "secretRef"},       {"scaleIO", "secretRef"},       {"iscsi", "secretRef"},
    {"storageos", "secretRef"}, {"csi", "nodePublishSecretRef"}};

// The same for a PersistentVolume, whose references include the namespace.
constexpr std::pair<const char*, const char*> kPersistentSecrets[] = {
    {"cephfs", "secretRef"},
    {"cinder", "secretRef"},
    {"flexVolume", "secretRef"},
    {"rbd", "secretRef"},
    {"scaleIO", "secretRef"},
    {"iscsi", "secretRef"},
    {"storageos", "secretRef"},
    {"csi", "controllerPublishSecretRef"},
    {"csi", "nodePublishSecretRef"},
    {"csi", "nodeStageSecretRef"},
    {"csi", "controllerExpandSecretRef"},
    {"csi", "nodeExpandSecretRef"}};

bool refersTo(const json::value& volume, std::string_view namespace_, std::string_view secret) {
  const auto* spec = find(volume, "spec");
  if (!spec) return false;
  const auto claimNamespace = textAt(*spec, "claimRef", "namespace");
  for (const auto& [source, field] : kPersistentSecrets) {
    if (textAt(*spec, source, field, "name") != secret) continue;
    const auto given = textAt(*spec, source, field, "namespace");
    if ((given.empty() ? claimNamespace : given) == namespace_) return true;
  }
  if (textAt(*spec, "azureFile", "secretName") != secret) return false;
  const auto given = textAt(*spec, "azureFile", "secretNamespace");
  return (given.empty() ? claimNamespace : given) == namespace_;
}

}  // namespace

NodeGraph::NodeGraph(Store& store, const Registry& registry)
    : store_(store), pods_(store.table("pods")) {
  const auto& fields = registry.findByTable("pods")->selectableFields;
  nodeField_ =
      static_cast<std::size_t>(std::ranges::find(fields, "spec.nodeName") - fields.begin());
  for (const auto& [key, entry] : pods_.entries())
    podChanged({entry->version, EventType::Added, nullptr, entry});
  store_.derive(pods_, [this](const Event& event) { podChanged(event); });
}

void NodeGraph::podChanged(const Event& event) {
  const auto nodeOf = [this](const EntryPtr& entry) -> const std::string& {
    static const std::string kNone;
    return entry && nodeField_ < entry->fields.size() ? entry->fields[nodeField_] : kNone;
  };
  const std::string& before = nodeOf(event.before);
  const std::string& now = nodeOf(event.now);
  if (before == now) return;
  if (!before.empty()) {
    const auto it = byNode_.find(before);
    if (it != byNode_.end()) {
      it->second.erase(event.before->key);
      if (it->second.empty()) byNode_.erase(it);
    }
    known_.erase(event.before->key);
  }
  if (!now.empty()) byNode_[now].insert(event.now->key);
}

NodeGraph::References NodeGraph::readReferences(const json::value& pod) {
  References out;
  if (const auto* annotations = at(pod, "metadata", "annotations");
      annotations && find(*annotations, model::kAnnotationMirrorPod))
    return out;  // mirror pods: kubelets create them and must not gain access
  const auto* spec = find(pod, "spec");
  if (!spec) return out;
  out.account = textAt(*spec, "serviceAccountName");
  forEach(*spec, "imagePullSecrets",
          [&](const auto& one) { add(out.secrets, textAt(one, "name")); });
  for (const auto* list : {"initContainers", "containers", "ephemeralContainers"})
    forEach(*spec, list, [&](const json::value& container) {
      forEach(container, "env", [&](const json::value& env) {
        add(out.secrets, textAt(env, "valueFrom", "secretKeyRef", "name"));
        add(out.configMaps, textAt(env, "valueFrom", "configMapKeyRef", "name"));
      });
      forEach(container, "envFrom", [&](const json::value& from) {
        add(out.secrets, textAt(from, "secretRef", "name"));
        add(out.configMaps, textAt(from, "configMapRef", "name"));
      });
    });
  forEach(*spec, "volumes", [&](const json::value& volume) {
    add(out.secrets, textAt(volume, "secret", "secretName"));
    add(out.secrets, textAt(volume, "azureFile", "secretName"));
    add(out.configMaps, textAt(volume, "configMap", "name"));
    for (const auto& [source, field] : kVolumeSecrets)
      add(out.secrets, textAt(volume, source, field, "name"));
    add(out.claims, textAt(volume, "persistentVolumeClaim", "claimName"));
    if (find(volume, "ephemeral"))
      add(out.claims,
          std::string(textAt(pod, "metadata", "name")) + "-" + std::string(textAt(volume, "name")));
    if (const auto* projected = find(volume, "projected"))
      forEach(*projected, "sources", [&](const json::value& source) {
        add(out.secrets, textAt(source, "secret", "name"));
        add(out.configMaps, textAt(source, "configMap", "name"));
      });
  });
  forEach(*spec, "resourceClaims", [&](const json::value& claim) {
    add(out.resourceClaims, textAt(claim, "resourceClaimName"));
    out.generatesClaims =
        out.generatesClaims || !textAt(claim, "resourceClaimTemplateName").empty();
  });
  if (const auto* status = find(pod, "status")) {
    forEach(*status, "resourceClaimStatuses", [&](const json::value& claim) {
      add(out.resourceClaims, textAt(claim, "resourceClaimName"));
    });
    add(out.resourceClaims, textAt(*status, "extendedResourceClaimStatus", "resourceClaimName"));
  }
  return out;
}

const NodeGraph::References& NodeGraph::referencesOf(const std::string& podKey) {
  const auto it = known_.find(podKey);
  if (it != known_.end()) return it->second;
  return known_.emplace(podKey, readReferences(objectAt("pods", podKey))).first->second;
}

json::value NodeGraph::objectAt(const char* table, std::string_view key) const {
  const auto entry = store_.table(table).find(key);
  auto object = entry ? parseJson(entry->text) : Result<json::value>(json::value());
  return object ? *std::move(object) : json::value();
}

std::pair<NodeGraph::Keys::const_iterator, NodeGraph::Keys::const_iterator> NodeGraph::podsOf(
    std::string_view node, std::string_view namespace_) const {
  static const Keys kNone;
  const auto it = byNode_.find(node);
  const Keys& keys = it == byNode_.end() ? kNone : it->second;
  if (namespace_.empty()) return {keys.begin(), keys.end()};
  // "0" comes right after "/", which ends the namespace.
  return {keys.lower_bound(std::string(namespace_) + "/"),
          keys.lower_bound(std::string(namespace_) + "0")};
}

template <class Predicate>
bool NodeGraph::anyPod(std::string_view node, std::string_view namespace_,
                       const Predicate& predicate) {
  const auto [begin, end] = podsOf(node, namespace_);
  return std::any_of(begin, end,
                     [&](const auto& key) { return predicate(key, referencesOf(key)); });
}

bool NodeGraph::hasPod(std::string_view node, std::string_view namespace_,
                       std::string_view pod) const {
  const auto it = byNode_.find(node);
  return it != byNode_.end() && it->second.contains(makeKey(namespace_, pod));
}

bool NodeGraph::needsConfigMap(std::string_view node, std::string_view namespace_,
                               std::string_view name) {
  return anyPod(node, namespace_,
                [&](const auto&, const References& of) { return of.configMaps.contains(name); });
}

bool NodeGraph::needsClaim(std::string_view node, std::string_view namespace_,
                           std::string_view name) {
  return anyPod(node, namespace_,
                [&](const auto&, const References& of) { return of.claims.contains(name); });
}

bool NodeGraph::needsResourceClaim(std::string_view node, std::string_view namespace_,
                                   std::string_view name) {
  std::vector<std::string> incomplete;
  if (anyPod(node, namespace_, [&](const auto& key, const References& of) {
        if (of.generatesClaims) incomplete.push_back(key);
        return of.resourceClaims.contains(name);
      }))
    return true;
  return std::ranges::any_of(incomplete, [&](const auto& key) {
    known_.erase(key);
    return referencesOf(key).resourceClaims.contains(name);
  });
}

bool NodeGraph::hasSlice(std::string_view node, std::string_view name) const {
  return textAt(objectAt(kSlices, name), "spec", "nodeName") == node;
}

bool NodeGraph::usesAccount(std::string_view node, std::string_view namespace_,
                            std::string_view name) {
  return anyPod(node, namespace_,
                [&](const auto&, const References& of) { return of.account == name; });
}

bool NodeGraph::needsVolume(std::string_view node, std::string_view name) {
  const auto volume = objectAt(kVolumes, name);
  const auto claim = textAt(volume, "spec", "claimRef", "name");
  const auto namespace_ = textAt(volume, "spec", "claimRef", "namespace");
  return !claim.empty() && !namespace_.empty() && needsClaim(node, namespace_, claim);
}

bool NodeGraph::needsSecret(std::string_view node, std::string_view namespace_,
                            std::string_view name) {
  if (anyPod(node, namespace_,
             [&](const auto&, const References& of) { return of.secrets.contains(name); }))
    return true;
  // Volumes may name secrets of other namespaces than that of their claim.
  return anyPod(node, "", [&](const std::string& key, const References& of) {
    return std::ranges::any_of(of.claims, [&](const std::string& claim) {
      const auto found = objectAt(kClaims, key.substr(0, key.find('/') + 1) + claim);
      const auto volume = textAt(found, "spec", "volumeName");
      return !volume.empty() && refersTo(objectAt(kVolumes, volume), namespace_, name);
    });
  });
}

bool NodeGraph::hasAttachment(std::string_view node, std::string_view name) const {
  return textAt(objectAt(kAttachments, name), "spec", "nodeName") == node;
}

}  // namespace koord::apiserver
