// ElasticQuota's HTTP endpoints, as upstream's, with the arithmetic of runtimes, the facts for
// explain, and metrics.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "model/well_known.h"
#include "net/prometheus.h"
#include "scheduler/plugins/elasticquota/plugin.h"
#include "scheduler/plugins/elasticquota/summary.h"

namespace koord::scheduler {

using quota::Cell;
using quota::Column;
using quota::QuotaId;
using quota::QuotaTree;

namespace {

constexpr std::size_t kMaxUsers = 10;
constexpr std::size_t kMaxSiblings = 100;

std::string amountText(const Quotas& quotas, const QuotaTree& tree, Column column,
                       quota::Sum amount) {
  const std::string& name = quotas.resources().name(tree.resource(column));
  return quantityOf(name, quota::clamped(amount)).toString();
}

json::object requestJson(const Quotas& quotas, const PodInfo& pod) {
  json::object object;
  quotas.forEachAmount(pod, nullptr, [&](ResourceId resource, std::int64_t amount) {
    const std::string& name = quotas.resources().name(resource);
    object.emplace(name, quantityOf(name, amount).toString());
  });
  return object;
}

// The entries of pods, by their quota.
using PodCaches = std::map<std::pair<const NamedTree*, QuotaId>, json::object>;

// For all quotas, or for `only`: one pass over all pods.
PodCaches podCaches(const Quotas& quotas, const Place& only = {}) {
  PodCaches caches;
  quotas.pods().forEach(quotas.cluster(), [&](const PodPtr& pod) {
    const Place place = quotas.placeOf(*pod);
    if (!place || (only && place != only) || quotas.ignores(*pod)) return;
    const bool assigned = quotas.cluster().findPod(pod->uid()) != nullptr;
    caches[{place.tree, place.quota}].emplace(
        pod->key(),
        json::object{{"isAssigned", assigned}, {"resource", requestJson(quotas, *pod)}});
  });
  return caches;
}

json::object quotaJson(const Quotas& quotas, const Place& place, PodCaches* pods = nullptr) {
  const QuotaTree& tree = place.quotas();
  const quota::Spec& spec = tree.spec(place.quota);
  const QuotaSummary summary = summaryOf(quotas, place);
  const QuotaId parent = tree.parent(place.quota);
  json::object out{{"name", tree.name(place.quota)},
                   {"parentName", parent == quota::kNoQuota ? "" : tree.name(parent)},
                   {"isParent", spec.isParent},
                   {"runtimeVersion", tree.stamp(place.quota)},
                   {"allowLentResource", spec.lends},
                   {"tree", place.tree->id}};
  const std::pair<const char*, const api::ResourceList*> lists[] = {
      {"max", &summary.max},
      {"min", &summary.min},
      {"autoScaleMin", &summary.autoScaleMin},
      {"used", &summary.used},
      {"nonPreemptibleUsed", &summary.nonPreemptibleUsed},
      {"request", &summary.request},
      {"nonPreemptibleRequest", &summary.nonPreemptibleRequest},
      {"sharedWeight", &summary.sharedWeight},
      {"runtime", &summary.runtime},
      {"childRequest", &summary.childRequest},
      {"allocated", &summary.allocated},
      {"guaranteed", &summary.guaranteed},
      {"selfUsed", &summary.selfUsed},
      {"selfNonPreemptibleUsed", &summary.selfNonPreemptibleUsed},
      {"selfRequest", &summary.selfRequest},
      {"selfNonPreemptibleRequest", &summary.selfNonPreemptibleRequest}};
  for (const auto& [name, list] : lists) out.emplace(name, listJson(*list));
  if (pods) out.emplace("podCache", std::move((*pods)[{place.tree, place.quota}]));
  return out;
}

json::array pathJson(const Place& place) {
  json::array path;
  for (QuotaId next = place.quota; next != quota::kNoQuota; next = place.quotas().parent(next))
    path.insert(path.begin(), json::string(place.quotas().name(next)));
  return path;
}

// How the runtime of a quota in one resource was computed.
json::object arithmetic(const Quotas& quotas, const Place& place, Column column) {
  const QuotaTree& tree = place.quotas();
  const Cell& cell = tree.cell(place.quota, column);
  const auto text = [&](quota::Sum amount) { return amountText(quotas, tree, column, amount); };
  json::object out{{"min", text(cell.min)},
                   {"max", text(cell.max)},
                   {"autoScaleMin", text(cell.scaledMin)},
                   {"request", text(cell.request)},
                   {"limitedRequest", text(tree.limited(place.quota, column))},
                   {"sharedWeight", text(cell.weight)},
                   {"runtime", text(cell.runtime)},
                   {"limit", text(cell.limit)},
                   {"used", text(cell.used)},
                   {"left", text(cell.limit - cell.used)}};
  const QuotaId parent = tree.parent(place.quota);
  if (parent == quota::kNoQuota || tree.spec(place.quota).apart) return out;
  out.emplace("parentTotal", text(tree.available(parent, column)));
  if (!tree.hasRuntime(place.quota, column)) {
    out.emplace("note", "the parent does not limit this resource: max is the limit");
    return out;
  }
  const std::vector<quota::Claim> claims = tree.claims(parent, column);
  std::vector<std::int64_t> runtimes(claims.size());
  std::vector<quota::Round> rounds;
  quota::redistribute(claims, tree.available(parent, column), runtimes, &rounds);
  json::array told;
  for (const quota::Round& round : rounds)
    told.push_back(json::object{{"left", text(round.left)}, {"borrowers", round.borrowers}});
  out.emplace("rounds", std::move(told));
  json::array siblings;
  std::size_t next = 0;
  for (const QuotaId child : tree.children(parent)) {
    if (tree.spec(child).apart) continue;
    const quota::Claim& claim = claims[next];
    const std::int64_t runtime = runtimes[next++];
    if (siblings.size() >= kMaxSiblings && child != place.quota) continue;
    siblings.push_back(
        json::object{{"name", tree.name(child)},
                     {"promised", text(claim.promised)},
                     {"limitedRequest", text(claim.request)},
                     {"sharedWeight", text(claim.weight)},
                     {"lends", claim.lends},
                     {"runtime", text(runtime)},
                     {"borrowed", text(std::max<std::int64_t>(runtime - claim.promised, 0))},
                     {"lent", text(std::max<std::int64_t>(claim.promised - runtime, 0))},
                     {"used", text(tree.cell(child, column).used)}});
  }
  out.emplace("siblings", std::move(siblings));
  return out;
}

std::string counted(std::size_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

// The same in a sentence.
std::string sentence(const Quotas& quotas, const Place& place, Column column) {
  const QuotaTree& tree = place.quotas();
  const Cell& cell = tree.cell(place.quota, column);
  const auto text = [&](quota::Sum amount) { return amountText(quotas, tree, column, amount); };
  const std::string& resource = quotas.resources().name(tree.resource(column));
  const QuotaId parent = tree.parent(place.quota);
  if (tree.spec(place.quota).apart)
    return cell.max == kNoLimit
               ? fmt::format("{}: the quota does not share resources and has no limit", resource)
               : fmt::format("{}: the quota does not share resources; its limit is max, {}",
                             resource, text(cell.max));
  if (!tree.hasRuntime(place.quota, column))
    return fmt::format("{}: {} does not limit it; the limit is max, {}", resource,
                       tree.name(parent), text(cell.max));
  const std::vector<quota::Claim> claims = tree.claims(parent, column);
  std::vector<std::int64_t> runtimes(claims.size());
  std::vector<quota::Round> rounds;
  quota::redistribute(claims, tree.available(parent, column), runtimes, &rounds);
  quota::Sum kept = 0, lent = 0;
  for (std::size_t n = 0; n < claims.size(); ++n) {
    kept += std::min(runtimes[n], claims[n].promised);
    lent += std::max<std::int64_t>(claims[n].promised - runtimes[n], 0);
  }
  const std::int64_t promised = std::max(cell.scaledMin, quota::clamped(cell.guaranteed));
  std::string told = fmt::format("{}: {} has {} for {}; their mins take {} and lend {}; ", resource,
                                 tree.name(parent), text(tree.available(parent, column)),
                                 counted(claims.size(), "quota"), text(kept), text(lent));
  if (cell.scaledMin < cell.min)
    told += fmt::format("the min {} is scaled down to {}; ", text(cell.min), text(cell.scaledMin));
  if (rounds.empty()) {
    told += "no resources are left to borrow; ";
  } else {
    told +=
        fmt::format("{} are distributed by weight to {} in {}; ", text(rounds.front().left),
                    counted(rounds.front().borrowers, "borrower"), counted(rounds.size(), "round"));
  }
  told +=
      fmt::format("this quota requests {}, has weight {} and gets {}",
                  text(tree.limited(place.quota, column)), text(cell.weight), text(cell.runtime));
  if (cell.runtime > promised)
    told += fmt::format(", {} of it borrowed", text(cell.runtime - promised));
  return told;
}

// The amount for all quotas: that of the nodes, less the use of the quotas that are apart.
json::array rootArithmetic(const Quotas& quotas, const Place& place) {
  const QuotaTree& tree = place.quotas();
  json::array lines;
  quota::forEachColumn(tree.columns(), [&](Column column) {
    const auto text = [&](quota::Sum amount) { return amountText(quotas, tree, column, amount); };
    quota::Sum apart = 0;
    for (const QuotaId child : tree.children(place.quota))
      if (tree.spec(child).apart) apart += tree.cell(child, column).used;
    lines.push_back(json::string(fmt::format(
        "{}: {} for its quotas; {} and {} use {}", quotas.resources().name(tree.resource(column)),
        text(tree.available(place.quota, column)), model::kDefaultQuota, model::kSystemQuota,
        text(apart))));
  });
  return lines;
}

// The quota and its ancestors without the root, which has no limit.
json::array levelsJson(const Quotas& quotas, const Place& place) {
  const QuotaTree& tree = place.quotas();
  json::array levels;
  if (place.quota == QuotaTree::kRoot) {
    json::object told = quotaJson(quotas, place);
    told.emplace("full", json::array());
    told.emplace("arithmetic", rootArithmetic(quotas, place));
    levels.push_back(std::move(told));
  }
  for (QuotaId next = place.quota; next != QuotaTree::kRoot && next != quota::kNoQuota;
       next = tree.parent(next)) {
    const Place level{place.tree, next};
    json::object told = quotaJson(quotas, level);
    json::array full, lines;
    quota::forEachColumn(tree.maxColumns(next), [&](Column column) {
      const Cell& cell = tree.cell(next, column);
      // A limit of 0 that no pod requests rejects no pod.
      if (cell.used >= cell.limit && (cell.used > 0 || cell.request > 0 || cell.max == 0))
        full.push_back(json::string(fmt::format("{}: uses {} of {}",
                                                quotas.resources().name(tree.resource(column)),
                                                amountText(quotas, tree, column, cell.used),
                                                amountText(quotas, tree, column, cell.limit))));
      lines.push_back(json::string(sentence(quotas, level, column)));
    });
    told.emplace("full", std::move(full));
    told.emplace("arithmetic", std::move(lines));
    levels.push_back(std::move(told));
  }
  return levels;
}

// The pods of the quota and its descendants with the largest charges, by the scarcest resource.
json::array biggestUsers(const Quotas& quotas, const Place& place) {
  const QuotaTree& tree = place.quotas();
  std::optional<Column> scarce;
  double fullest = -1;
  quota::forEachColumn(tree.maxColumns(place.quota), [&](Column column) {
    const Cell& cell = tree.cell(place.quota, column);
    const double part = cell.limit > 0 ? static_cast<double>(quota::clamped(cell.used)) /
                                             static_cast<double>(cell.limit)
                                       : 0;
    if (part > fullest) {
      fullest = part;
      scarce = column;
    }
  });
  json::array users;
  if (!scarce) return users;
  const auto below = [&](const Place& other) {
    if (other.tree != place.tree) return false;
    for (QuotaId next = other.quota; next != quota::kNoQuota; next = tree.parent(next))
      if (next == place.quota) return true;
    return false;
  };
  std::vector<std::pair<std::int64_t, PodPtr>> pods;
  for (const auto& record : quotas.cluster().pods()) {
    const Charge* charge = quotas.ledger().in(record.grants);
    if (charge && below(charge->account->place))
      pods.emplace_back(record.info->request.amount(tree.resource(*scarce)), record.info);
  }
  const std::size_t shown = std::min(kMaxUsers, pods.size());
  std::ranges::partial_sort(
      pods, pods.begin() + static_cast<std::ptrdiff_t>(shown), [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second->key() < b.second->key();
      });
  for (std::size_t n = 0; n < shown; ++n) {
    const PodInfo& pod = *pods[n].second;
    users.push_back(json::object{{"pod", pod.key()},
                                 {"quota", quotas.placeOf(pod).name()},
                                 {"priority", pod.priority},
                                 {"request", requestJson(quotas, pod)}});
  }
  return users;
}

json::object explainQuota(const Quotas& quotas, const Place& place, const std::string& name) {
  const QuotaTree& tree = place.quotas();
  json::object resources;
  quota::forEachColumn(tree.maxColumns(place.quota), [&](Column column) {
    resources.emplace(quotas.resources().name(tree.resource(column)),
                      arithmetic(quotas, place, column));
  });
  std::size_t waiting = 0, assigned = 0;
  quotas.pods().forEach(quotas.cluster(), [&](const PodPtr& pod) {
    if (quotas.placeOf(*pod) == place)
      ++(quotas.cluster().findPod(pod->uid()) ? assigned : waiting);
  });
  json::array problems;
  for (const std::string& problem : quotas.problemsOf(name))
    problems.push_back(json::string(problem));
  return {{"name", name},
          {"tree", place.tree->id},
          {"path", pathJson(place)},
          {"levels", levelsJson(quotas, place)},
          {"allowLentResource", tree.spec(place.quota).lends},
          {"resources", std::move(resources)},
          {"pods", json::object{{"assigned", assigned}, {"waiting", waiting}}},
          {"biggestUsers", biggestUsers(quotas, place)},
          {"problems", std::move(problems)}};
}

Result<Place> placeNamed(Quotas& quotas, const std::string& name) {
  const Place place = quotas.find(name);
  if (!place) return fail(ErrorCode::NotFound, "cannot find quota " + name);
  quotas.refresh(place);
  return place;
}

bool wantsPods(const api::StringMap& query) {
  const auto* value = api::findIn(query, "includePods");
  return value && *value == "true";
}

}  // namespace

std::vector<ServicePlugin::Route> ElasticQuota::routes() {
  Route one{.path = "quotas/", .shown = "quotas/:name", .answer = {}, .open = true};
  one.ask = [this](const std::string& name, const api::StringMap& query) -> Result<json::value> {
    const auto place = placeNamed(quotas_, name);
    if (!place) return fail(place.error());
    if (!wantsPods(query)) return json::value(quotaJson(quotas_, *place));
    PodCaches pods = podCaches(quotas_, *place);
    return json::value(quotaJson(quotas_, *place, &pods));
  };
  Route all{.path = "quotas", .shown = "quotas", .answer = {}, .open = true};
  all.ask = [this](const std::string&, const api::StringMap& query) -> Result<json::value> {
    quotas_.refreshAll();
    const auto* only = api::findIn(query, "tree");
    const bool withPods = wantsPods(query);
    PodCaches pods = withPods ? podCaches(quotas_) : PodCaches();
    json::object out;
    for (const auto& [id, tree] : quotas_.trees()) {
      if (only && !only->empty() && *only != id) continue;
      tree->quotas().forEach([&](QuotaId quota) {
        out.emplace(tree->quotas().name(quota),
                    quotaJson(quotas_, {tree.get(), quota}, withPods ? &pods : nullptr));
      });
    }
    return json::value(std::move(out));
  };
  Route explain{.path = "explain/", .shown = "explain/:name", .answer = {}};
  explain.answer = [this](const std::string& name) -> Result<json::value> {
    const auto place = placeNamed(quotas_, name);
    if (!place) return fail(place.error());
    return json::value(explainQuota(quotas_, *place, name));
  };
  std::vector<Route> routes;
  routes.push_back(std::move(one));
  routes.push_back(std::move(all));
  routes.push_back(std::move(explain));
  return routes;
}

json::value ElasticQuota::factsOf(const PodInfo& pod) const {
  const Place place = quotas_.placeOf(pod);
  if (!place) return nullptr;
  quotas_.refresh(place);
  json::object facts{{"quota", place.name()}, {"path", pathJson(place)}};
  if (!place.tree->id.empty()) facts.emplace("tree", place.tree->id);
  if (const auto* record = cluster_.findPod(pod.uid())) {
    facts.emplace("charged", quotas_.ledger().in(record->grants) != nullptr);
    return facts;
  }
  const Shortage shortage = judge(place, pod);
  facts.emplace("admitted", !shortage);
  if (!shortage) return facts;
  facts.emplace("fullAt", place.quotas().name(shortage.quota));
  facts.emplace("message", textOf(quotas_, place, askOf(quotas_, place, pod), shortage, rules_));
  json::object resources;
  const Place full{place.tree, shortage.quota};
  quota::forEachColumn(shortage.exceeded, [&](Column column) {
    resources.emplace(quotas_.resources().name(place.quotas().resource(column)),
                      arithmetic(quotas_, full, column));
  });
  facts.emplace("resources", std::move(resources));
  facts.emplace("biggestUsers", biggestUsers(quotas_, full));
  return facts;
}

std::string ElasticQuota::metrics() const {
  quotas_.refreshAll();
  std::string status, spec;
  const auto escaped = [](const std::string& text) {
    std::string safe;
    for (const char c : text) {
      if (c == '\\' || c == '"') safe += '\\';
      safe += c == '\n' ? ' ' : c;
    }
    return safe;
  };
  const auto add = [&](const Place& place) {
    const QuotaTree& tree = place.quotas();
    const QuotaSummary summary = summaryOf(quotas_, place);
    const QuotaId parent = tree.parent(place.quota);
    const std::string labels =
        fmt::format("name=\"{}\",tree=\"{}\",is_parent=\"{}\",parent=\"{}\"", escaped(place.name()),
                    escaped(place.tree->id), tree.spec(place.quota).isParent,
                    parent == quota::kNoQuota ? "" : escaped(tree.name(parent)));
    const auto rows = [&](std::string& text, std::string_view metric, std::string_view field,
                          const api::ResourceList& list) {
      for (const auto& [name, amount] : list)
        text +=
            fmt::format("{}{{{},resource=\"{}\",field=\"{}\"}} {}\n", metric, labels, escaped(name),
                        field, net::prometheusNumber(static_cast<double>(amountOf(name, amount))));
    };
    constexpr std::string_view kPrefix = "quota.scheduling.koordinator.sh/";
    for (const auto& [key, list] : annotationsOf(summary))
      rows(status, "scheduler_elastic_quota_status", key.substr(kPrefix.size()), *list);
    rows(status, "scheduler_elastic_quota_status", "used", summary.used);
    rows(status, "scheduler_elastic_quota_status", "unschedulable-resource",
         quotas_.unschedulable(place.name()));
    for (const auto& [text, metric] : {std::pair{&status, "scheduler_elastic_quota_status"},
                                       std::pair{&spec, "scheduler_elastic_quota_spec"}}) {
      rows(*text, metric, "min", summary.min);
      rows(*text, metric, "max", summary.max);
      rows(*text, metric, "sharedWeight", summary.sharedWeight);
    }
  };
  for (const auto& [id, tree] : quotas_.trees())
    tree->quotas().forEach([&](QuotaId quota) { add({tree.get(), quota}); });
  return "# HELP scheduler_elastic_quota_status Requests, usage and runtime of quotas\n"
         "# TYPE scheduler_elastic_quota_status gauge\n" +
         status +
         "# HELP scheduler_elastic_quota_spec Settings of quotas\n"
         "# TYPE scheduler_elastic_quota_spec gauge\n" +
         spec +
         fmt::format(
             "# HELP scheduler_elastic_quota_revoked_pods_total Pods evicted because their quota "
             "used more than its runtime\n"
             "# TYPE scheduler_elastic_quota_revoked_pods_total counter\n"
             "scheduler_elastic_quota_revoked_pods_total {}\n",
             controller_.revoked()) +
         quotas_.latencies().text();
}

}  // namespace koord::scheduler
