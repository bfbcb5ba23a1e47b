#include "koordctl/capacity/capacity_question.h"

#include <algorithm>
#include <array>

#include "koordctl/simulate/question.h"
#include "model/well_known.h"

namespace koord::koordctl {

namespace {

// Kubernetes accepts other resources only with a limit that equals the request.
constexpr std::array<std::string_view, 3> kWithoutLimit{"cpu", "memory", "ephemeral-storage"};

Result<json::value> podWith(const CapacityQuestion& question, const std::string& namespace_) {
  auto requests = amountsIn(question.requests, "--requests");
  if (!requests) return fail(std::move(requests.error()));
  json::object limits;
  for (const auto& [resource, amount] : *requests)
    if (std::ranges::find(kWithoutLimit, std::string_view(resource)) == kWithoutLimit.end())
      limits.emplace(resource, amount);
  json::object labels;
  if (!question.qos.empty()) labels.emplace(model::kLabelQos, question.qos);
  json::object spec{
      {"schedulerName", "koord-scheduler"},
      {"containers",
       json::array{json::object{{"name", "main"},
                                {"image", "none"},
                                {"resources", json::object{{"requests", *std::move(requests)},
                                                           {"limits", std::move(limits)}}}}}}};
  if (!question.priorityClass.empty()) spec.emplace("priorityClassName", question.priorityClass);
  return json::value(json::object{{"apiVersion", "v1"},
                                  {"kind", "Pod"},
                                  {"metadata", json::object{{"name", "capacity"},
                                                            {"namespace", namespace_},
                                                            {"labels", std::move(labels)}}},
                                  {"spec", std::move(spec)}});
}

// The pods of the object count in this quota.
void setQuota(json::value& object, const std::string& quota) {
  json::value pod = podOf(object);
  if (!pod.is_object()) return;
  json::value& metadata = pod.get_object()["metadata"];
  if (!metadata.is_object()) metadata = json::object();
  json::value& labels = metadata.get_object()["labels"];
  if (!labels.is_object()) labels = json::object();
  labels.get_object()[model::kLabelQuotaName] = quota;
  takePod(object, pod);
}

}  // namespace

std::string problemOf(const CapacityQuestion& question) {
  const bool byRequests = !question.requests.empty();
  if (question.files.empty() != byRequests) return "one of --filename and --requests";
  if (!byRequests && !(question.priorityClass + question.qos).empty())
    return "--priority-class and --qos: only with --requests; a file has its own";
  if (!question.nodesFor) {
    if (!(question.shape + question.like).empty()) return "--shape and --like: need --nodes-for";
    return {};
  }
  if (question.shape.empty() == question.like.empty())
    return "--nodes-for: needs one of --shape and --like";
  return question.pools.empty() ? "" : "--by: not with --nodes-for, whose nodes are all alike";
}

Result<Specs> capacitySpecs(const CapacityQuestion& question, const std::string& namespace_,
                            const std::vector<std::string>& quotas) {
  auto objects = objectsInFiles(question.files, namespace_);
  if (!objects) return fail(std::move(objects.error()));
  if (!question.requests.empty()) {
    auto pod = podWith(question, namespace_);
    if (!pod) return fail(std::move(pod.error()));
    objects->push_back(*std::move(pod));
  }
  json::object spec{{"objects", *std::move(objects)}};
  if (question.nodesFor) {
    auto shape = newNodes(1, question.like.empty() ? question.shape : question.like);
    if (!shape) return fail(std::move(shape.error()));
    spec.emplace("nodesFor", *std::move(shape));
  } else {
    spec.emplace("fill", json::object{{"pools", question.pools}});
  }
  if (!question.config.empty()) {
    auto configuration = configurationIn(question.config);
    if (!configuration) return fail(std::move(configuration.error()));
    spec.emplace("configuration", *std::move(configuration));
  }
  Specs specs(std::max<std::size_t>(1, quotas.size()), spec);
  for (std::size_t i = 0; i < quotas.size(); ++i)
    for (json::value& object : specs[i]["objects"].get_array()) setQuota(object, quotas[i]);
  return specs;
}

}  // namespace koord::koordctl
