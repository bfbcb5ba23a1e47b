#include "scheduler/plugins/noderesources/args.h"

#include <fmt/format.h>

#include <set>

#include "api/names.h"

namespace koord::scheduler {

namespace {

void readShape(Fields ratio, bool required, std::vector<ShapePoint>& shape) {
  for (Fields& point : ratio.list("shape")) {
    ShapePoint& read = shape.emplace_back();
    read.utilization = point.integer("utilization", 0, 0, 100);
    read.score = point.integer("score", 0, 0, 10);
    point.refuseUnknown();
    if (shape.size() > 1 && shape[shape.size() - 2].utilization >= read.utilization)
      point.error("utilization",
                  "Invalid value: utilization values must be sorted in increasing order");
  }
  if (required && shape.empty())
    ratio.error("shape", "Required value: at least one point must be specified");
  ratio.refuseUnknown();
}

void readStrategy(Fields strategy, NodeResourcesFitArgs& args) {
  // A strategy must have a type; there is a default only without a strategy.
  const std::string type = strategy.text("type");
  if (type == "LeastAllocated") {
    args.type = ScoringType::LeastAllocated;
  } else if (type == "MostAllocated") {
    args.type = ScoringType::MostAllocated;
  } else if (type == "RequestedToCapacityRatio") {
    args.type = ScoringType::RequestedToCapacityRatio;
  } else {
    strategy.error("type",
                   fmt::format("Unsupported value: \"{}\": supported values: LeastAllocated, "
                               "MostAllocated, RequestedToCapacityRatio",
                               type));
  }
  std::vector<ResourceWeight> resources;
  for (Fields& item : strategy.list("resources")) {
    ResourceWeight& read = resources.emplace_back();
    read.name = item.text("name");
    read.weight = item.integer("weight", 1, 0, 100);
    if (read.weight == 0) read.weight = 1;
    item.refuseUnknown();
  }
  if (!resources.empty()) args.resources = std::move(resources);
  const bool ratio = args.type == ScoringType::RequestedToCapacityRatio;
  if (strategy.has("requestedToCapacityRatio") != ratio) {
    strategy.error("requestedToCapacityRatio",
                   ratio ? "Required value: needed by type RequestedToCapacityRatio"
                         : "Forbidden: only for type RequestedToCapacityRatio");
  }
  Fields details = strategy.object("requestedToCapacityRatio");
  readShape(details, ratio, args.shape);
  strategy.refuseUnknown();
}

}  // namespace

NodeResourcesFitArgs NodeResourcesFitArgs::read(Fields& fields) {
  NodeResourcesFitArgs args;
  args.ignoredResources = fields.texts("ignoredResources");
  for (std::size_t i = 0; i < args.ignoredResources.size(); ++i) {
    if (const std::string wrong = api::checkQualifiedName(args.ignoredResources[i]);
        !wrong.empty()) {
      fields.error(fmt::format("ignoredResources[{}]", i),
                   fmt::format("Invalid value: \"{}\": {}", args.ignoredResources[i], wrong));
    }
  }
  args.ignoredResourceGroups = fields.texts("ignoredResourceGroups");
  for (std::size_t i = 0; i < args.ignoredResourceGroups.size(); ++i) {
    if (args.ignoredResourceGroups[i].find('/') != std::string::npos)
      fields.error(fmt::format("ignoredResourceGroups[{}]", i),
                   "Invalid value: resource group name can't contain '/'");
    if (const std::string wrong = api::checkQualifiedName(args.ignoredResourceGroups[i]);
        !wrong.empty()) {
      fields.error(fmt::format("ignoredResourceGroups[{}]", i),
                   fmt::format("Invalid value: \"{}\": {}", args.ignoredResourceGroups[i], wrong));
    }
  }
  if (fields.has("scoringStrategy")) readStrategy(fields.object("scoringStrategy"), args);
  fields.raw("scoringStrategy");
  fields.refuseUnknown();
  return args;
}

NodeResourcesBalancedAllocationArgs NodeResourcesBalancedAllocationArgs::read(Fields& fields) {
  NodeResourcesBalancedAllocationArgs args;
  std::vector<std::string> resources;
  std::set<std::string> seen;
  for (Fields& item : fields.list("resources")) {
    const std::string name = item.text("name");
    if (name.empty()) item.error("name", "Required value");
    if (!seen.insert(name).second) item.error("name", fmt::format("Duplicate value: \"{}\"", name));
    if (const auto weight = item.integer("weight", 1, 0, INT64_MAX); weight > 1)
      item.error("weight", fmt::format("Invalid value: {}: resource weight must be 1", weight));
    item.refuseUnknown();
    resources.push_back(name);
  }
  if (!resources.empty()) args.resources = std::move(resources);
  const std::string mode = fields.text("balancedAllocationMode", "AfterPod");
  if (mode == "Improvement") {
    args.mode = BalanceMode::Improvement;
  } else if (mode != "AfterPod") {
    fields.error(
        "balancedAllocationMode",
        fmt::format("Unsupported value: \"{}\": supported values: AfterPod, Improvement", mode));
  }
  fields.refuseUnknown();
  return args;
}

}  // namespace koord::scheduler
