#include "manager/webhook/quota/quota_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "api/codec.h"
#include "manager/common/names.h"
#include "manager/webhook/quota/quota_checks.h"
#include "model/well_known.h"

namespace koord::manager {

namespace {

bool isTrue(const api::StringMap& labels, std::string_view key) {
  return api::textIn(labels, key) == "true";
}

// As upstream reads it: a value that is not a list of names counts as absent.
std::vector<std::string> namespacesIn(const api::ElasticQuota& quota) {
  std::vector<std::string> names;
  const auto document =
      parseJson(api::textIn(quota.metadata.annotations, model::kAnnotationQuotaNamespaces));
  const auto* list = document ? document->if_array() : nullptr;
  if (!list || !std::ranges::all_of(*list, [](const auto& item) { return item.is_string(); }))
    return names;
  for (const auto& item : *list) names.emplace_back(item.get_string());
  return names;
}

Result<> refused(std::string message) {
  return fail(ErrorCode::Invalid, std::move(message));
}

std::string listText(const std::set<std::string>& names) {
  return fmt::format("[{}]", fmt::join(names, " "));
}

std::set<std::string> negativeNames(const api::ResourceList& list) {
  std::set<std::string> names;
  for (const auto& [name, amount] : list)
    if (amount.sign() < 0) names.insert(name);
  return names;
}

Result<> checkWeight(const api::ElasticQuota& quota) {
  const std::string_view text =
      api::textIn(quota.metadata.annotations, model::kAnnotationSharedWeight);
  if (text.empty()) return {};
  const auto weight = api::decodeText<api::ResourceList>(text, api::Reading::Go);
  if (!weight)
    return fail(
        Error(weight.error())
            .within(fmt::format("metadata.annotations[{}]", model::kAnnotationSharedWeight)));
  if (const auto names = negativeNames(*weight); !names.empty())
    return refused(fmt::format("{} quota.Annotation[{}]'s value < 0, in dimension :{}",
                               quota.metadata.name, model::kAnnotationSharedWeight,
                               listText(names)));
  return {};
}

Result<> checkStrictKeys(const api::ElasticQuota& quota) {
  const std::string_view text = api::textIn(quota.metadata.annotations, kAnnotationQuotaStrictKeys);
  if (text.empty()) return {};
  const auto document = parseJson(text);
  const auto* keys = document ? document->if_array() : nullptr;
  if (!keys || !std::ranges::all_of(*keys, [](const auto& key) { return key.is_string(); }))
    return refused(
        fmt::format("{} quota.Annotation[{}]'s value is invalid: expected a list of resource names",
                    quota.metadata.name, kAnnotationQuotaStrictKeys));
  for (const auto& item : *keys) {
    const std::string key(item.get_string());
    const auto used = quota.status.used.find(key);
    if (used == quota.status.used.end()) continue;
    const auto max = quota.spec.max.find(key);
    if (max == quota.spec.max.end())
      return refused(
          fmt::format("resourceKey {} of quota {} is included in used, which is not included in "
                      "max but should check max >= used",
                      key, quota.metadata.name));
    if (max->second < used->second)
      return refused(fmt::format("resourceKey {} of quota {} max {} < used {}", key,
                                 quota.metadata.name, max->second.toString(),
                                 used->second.toString()));
  }
  return {};
}

json::value summaryOf(const QuotaInfo& quota) {
  return json::object{{"name", quota.name},
                      {"parentName", quota.parent},
                      {"isParent", quota.isParent},
                      {"allowLentResource", quota.lends},
                      {"max", api::encode(quota.max)},
                      {"min", api::encode(quota.min)}};
}

}  // namespace

QuotaInfo quotaInfoOf(const api::ElasticQuota& quota) {
  const api::StringMap& labels = quota.metadata.labels;
  QuotaInfo info;
  info.namespace_ = quota.metadata.namespace_;
  info.name = quota.metadata.name;
  info.parent = api::textIn(labels, model::kLabelQuotaParent);
  if (info.parent.empty() && info.name != model::kRootQuota) info.parent = model::kRootQuota;
  info.tree = api::textIn(labels, model::kLabelQuotaTree);
  info.isParent = isTrue(labels, model::kLabelQuotaIsParent);
  info.lends = api::textIn(labels, model::kLabelQuotaLends) != "false";
  info.forceUpdate = isTrue(labels, kLabelQuotaForceUpdate);
  info.isTreeRoot = isTrue(labels, model::kLabelQuotaIsRoot);
  info.min = quota.spec.min;
  info.max = quota.spec.max;
  const std::string_view text =
      api::textIn(quota.metadata.annotations, model::kAnnotationQuotaGuaranteed);
  if (const auto guaranteed = api::decodeText<api::ResourceList>(text, api::Reading::Go))
    info.guaranteed = *guaranteed;
  info.namespaces = namespacesIn(quota);
  if (quota.metadata.creationTimestamp) info.created = *quota.metadata.creationTimestamp;
  return info;
}

bool QuotaInfo::equalsObject(const QuotaInfo& other) const {
  const auto all = [](const QuotaInfo& quota) {
    return std::tie(quota.namespace_, quota.name, quota.parent, quota.tree, quota.isParent,
                    quota.lends, quota.forceUpdate, quota.isTreeRoot, quota.min, quota.max,
                    quota.guaranteed, quota.namespaces);
  };
  return all(*this) == all(other);
}

void QuotaTopology::put(QuotaInfo quota) {
  const std::string name = quota.name;
  std::vector<QuotaInfo> all = holders(name);
  std::erase_if(all, [&](const QuotaInfo& one) { return one.namespace_ == quota.namespace_; });
  all.push_back(std::move(quota));
  setHolders(name, std::move(all));
}

void QuotaTopology::remove(std::string_view namespace_, std::string_view name) {
  std::vector<QuotaInfo> all = holders(name);
  if (std::erase_if(all, [&](const QuotaInfo& one) { return one.namespace_ == namespace_; }) == 0)
    return;
  setHolders(std::string(name), std::move(all));
}

std::vector<QuotaInfo> QuotaTopology::holders(std::string_view name) const {
  const auto it = quotas_.find(name);
  return it == quotas_.end() ? std::vector<QuotaInfo>() : it->second;
}

void QuotaTopology::setHolders(const std::string& name, std::vector<QuotaInfo> holders) {
  const auto drop = [&name](auto& map, const std::string& key) {
    const auto it = map.find(key);
    if (it == map.end()) return;
    it->second.erase(name);
    if (it->second.empty()) map.erase(it);
  };
  if (const QuotaInfo* old = find(name)) {
    drop(children_, old->parent);
    for (const auto& ns : old->namespaces) drop(byNamespace_, ns);
  }
  if (holders.empty()) {
    quotas_.erase(name);
    return;
  }
  std::ranges::sort(holders, {}, [](const QuotaInfo& quota) {
    return std::tie(quota.created, quota.namespace_);
  });
  children_[holders.front().parent].insert(name);
  for (const auto& ns : holders.front().namespaces) byNamespace_[ns].insert(name);
  quotas_[name] = std::move(holders);
}

const QuotaInfo* QuotaTopology::find(std::string_view name) const {
  const auto it = quotas_.find(name);
  return it == quotas_.end() ? nullptr : &it->second.front();
}

const QuotaInfo* QuotaTopology::find(std::string_view namespace_, std::string_view name) const {
  const auto it = quotas_.find(name);
  if (it == quotas_.end()) return nullptr;
  const auto one = std::ranges::find(it->second, namespace_, &QuotaInfo::namespace_);
  return one == it->second.end() ? nullptr : &*one;
}

const QuotaInfo* QuotaTopology::ofNamespace(std::string_view namespace_) const {
  const auto it = byNamespace_.find(namespace_);
  return it == byNamespace_.end() ? nullptr : find(*it->second.begin());
}

const std::string* QuotaTopology::otherOf(std::string_view namespace_,
                                          std::string_view name) const {
  const auto it = byNamespace_.find(namespace_);
  if (it == byNamespace_.end()) return nullptr;
  for (const auto& other : it->second)
    if (other != name) return &other;
  return nullptr;
}

const std::set<std::string>& QuotaTopology::childrenOf(std::string_view name) const {
  static const std::set<std::string> none;
  const auto it = children_.find(name);
  return it == children_.end() ? none : it->second;
}

Result<> QuotaTopology::checkAdd(const api::ElasticQuota& quota, const QuotaRules& rules) const {
  const std::string& name = quota.metadata.name;
  if (find(name)) return refused(fmt::format("AddQuota quota already exist:{}", name));
  const QuotaInfo info = quotaInfoOf(quota);
  for (const auto& ns : info.namespaces)
    if (const auto* bound = otherOf(ns, name))
      return refused(
          fmt::format("AddQuota quota {}'s annotation namespace {} is already bound to quota {}",
                      name, ns, *bound));
  if (auto itself = checkQuotaFields(quota); !itself) return itself;
  return QuotaChecks(*this, rules, info, nullptr, false).run();
}

Result<> QuotaTopology::checkUpdate(const api::ElasticQuota& quota, const QuotaRules& rules,
                                    bool hasPods) const {
  const std::string& name = quota.metadata.name;
  if (name == model::kSystemQuota || name == model::kRootQuota)
    return refused(fmt::format("invalid quota {}", name));
  const QuotaInfo info = quotaInfoOf(quota);
  for (const auto& ns : info.namespaces)
    if (const auto* bound = otherOf(ns, name))
      return refused(fmt::format(
          "UpdadteQuota, quota {} update namespaces, but namespace {} is already bound to quota {}",
          name, ns, *bound));
  const QuotaInfo* old = find(name);
  if (!old) return refused(fmt::format("UpdateQuota quota not exist in quotaInfoMap:{}", name));
  if (auto itself = checkQuotaFields(quota); !itself) return itself;
  return QuotaChecks(*this, rules, info, old, hasPods).run();
}

Result<> QuotaTopology::checkDelete(std::string_view name,
                                    const std::vector<std::string>& podNames) const {
  if (name == model::kSystemQuota || name == model::kRootQuota || name == model::kDefaultQuota)
    return refused(fmt::format("can not delete quotaGroup :{}", name));
  if (!find(name)) return refused(fmt::format("not found quota:{}", name));
  if (const auto& children = childrenOf(name); !children.empty())
    return refused(
        fmt::format("delete quota failed, quota {} has {} child quotas", name, children.size()));
  if (podNames.empty()) return {};
  std::vector<std::string> shown(podNames.begin(),
                                 podNames.begin() + std::min<std::size_t>(podNames.size(), 2));
  if (podNames.size() > 2) shown.emplace_back("...");
  return refused(fmt::format("delete quota failed, quota {} has {} child pods: {}", name,
                             podNames.size(), fmt::join(shown, ", ")));
}

json::value QuotaTopology::summary() const {
  json::object quotas;
  for (const auto& [name, holders] : quotas_) quotas[name] = summaryOf(holders.front());
  json::object hierarchy;
  for (const auto& [name, holders] : quotas_) hierarchy[name] = json::array();
  for (const auto& [name, children] : children_) {
    if (name.empty()) continue;
    hierarchy[name] = json::array(children.begin(), children.end());
  }
  return json::object{{"quotaInfoMap", std::move(quotas)},
                      {"quotaHierarchyInfo", std::move(hierarchy)}};
}

bool sameQuota(const api::ElasticQuota& before, const api::ElasticQuota& after) {
  const auto same = [](const api::StringMap& a, const api::StringMap& b, std::string_view key) {
    return api::textIn(a, key) == api::textIn(b, key);
  };
  return std::ranges::all_of(
             std::initializer_list<std::string_view>{
                 model::kLabelQuotaParent, model::kLabelQuotaIsParent, model::kLabelQuotaTree},
             [&](std::string_view key) {
               return same(before.metadata.labels, after.metadata.labels, key);
             }) &&
         same(before.metadata.annotations, after.metadata.annotations,
              model::kAnnotationQuotaNamespaces) &&
         before.spec.min == after.spec.min && before.spec.max == after.spec.max;
}

Result<> checkQuotaFields(const api::ElasticQuota& quota) {
  const std::string& name = quota.metadata.name;
  if (const auto names = negativeNames(quota.spec.max); !names.empty())
    return refused(
        fmt::format("{} quota.Spec.Max's value < 0, in dimensions :{}", name, listText(names)));
  if (const auto names = negativeNames(quota.spec.min); !names.empty())
    return refused(
        fmt::format("{} quota.Spec.Min's value < 0, in dimensions :{}", name, listText(names)));
  if (auto weight = checkWeight(quota); !weight) return weight;
  for (const auto& [key, min] : quota.spec.min) {
    const auto max = quota.spec.max.find(key);
    if (max == quota.spec.max.end())
      return refused(
          fmt::format("resourceKey {} of quota {} is included in min, which is not included in max",
                      key, name));
    if (max->second < min)
      return refused(fmt::format("resourceKey {} of quota {} min {} > max {}", key, name,
                                 min.toString(), max->second.toString()));
  }
  return checkStrictKeys(quota);
}

}  // namespace koord::manager
