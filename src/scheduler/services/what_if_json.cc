#include <fmt/format.h>

#include <chrono>

#include "api/codec.h"
#include "scheduler/services/what_if.h"

namespace koord::scheduler {

namespace {

Error wrongField(std::size_t i, std::string_view field, std::string_view what) {
  return {ErrorCode::Invalid,
          fmt::format("pods[{}]{}{}: {}", i, field.empty() ? "" : ".", field, what)};
}

Result<std::string> textField(const json::value& value, std::size_t i, std::string_view field) {
  if (!value.is_string()) return fail(wrongField(i, field, "must be a string"));
  return std::string(value.get_string());
}

Result<std::vector<std::string>> namesField(const json::value& value, std::size_t i) {
  std::vector<std::string> names;
  if (!value.is_array()) return fail(wrongField(i, "avoid", "must be a list of node names"));
  for (const json::value& each : value.get_array()) {
    auto name = textField(each, i, "avoid");
    if (!name) return fail(std::move(name.error()));
    names.push_back(*std::move(name));
  }
  return names;
}

Result<std::shared_ptr<const api::Pod>> podField(const Scheduler& scheduler,
                                                 const json::value& value, std::size_t i) {
  auto pod = api::decode<api::Pod>(value);
  if (!pod) return fail(wrongField(i, "pod", pod.error().message));
  if (pod->metadata.name.empty() || pod->metadata.uid.empty())
    return fail(wrongField(i, "pod.metadata", "name and uid are required"));
  if (pod->metadata.namespace_.empty()) pod->metadata.namespace_ = "default";
  if (pod->spec.schedulerName.empty()) pod->spec.schedulerName = "default-scheduler";
  transformPod(*pod, scheduler.podTransforms());
  return std::make_shared<const api::Pod>(*std::move(pod));
}

Result<WhatIfMove> readMove(const Scheduler& scheduler, const json::value& value, std::size_t i) {
  if (!value.is_object()) return fail(wrongField(i, "", "must be an object"));
  WhatIfMove move;
  for (const auto& member : value.get_object()) {
    const std::string_view name = member.key();
    Result<> read;
    const auto take = [&](auto result, auto& to) {
      if (result) {
        to = *std::move(result);
      } else {
        read = fail(std::move(result.error()));
      }
    };
    if (name == "pod") {
      take(podField(scheduler, member.value(), i), move.pod);
    } else if (name == "from") {
      take(textField(member.value(), i, name), move.from);
    } else if (name == "group") {
      take(textField(member.value(), i, name), move.group);
    } else if (name == "avoid") {
      take(namesField(member.value(), i), move.avoid);
    } else if (name == "stays" && member.value().is_bool()) {
      move.stays = member.value().get_bool();
    } else {
      return fail(wrongField(i, name, name == "stays" ? "must be true or false" : "unknown field"));
    }
    if (!read) return fail(std::move(read.error()));
  }
  if (!move.pod) return fail(wrongField(i, "pod", "is missing"));
  return move;
}

json::array reasonsJson(const std::vector<Diagnosis::Entry>& entries) {
  json::array array;
  for (const auto& entry : entries) {
    json::array reasons;
    for (const auto& reason : entry.reasons) reasons.push_back(json::string(reason));
    array.push_back(json::object{{"plugin", entry.plugin},
                                 {"code", json::string(nameOf(entry.code))},
                                 {"reasons", std::move(reasons)},
                                 {"nodes", entry.nodes}});
  }
  return array;
}

json::object nodeJson(const WhatIfNode& node) {
  json::object allocatable{{"pods", std::to_string(node.podsAllowed)}};
  json::object before{{"pods", std::to_string(node.podsBefore)}};
  json::object after{{"pods", std::to_string(node.podsAfter)}};
  for (const auto& amount : node.amounts) {
    allocatable.emplace(amount.resource, amountText(amount.id, amount.allocatable));
    before.emplace(amount.resource, amountText(amount.id, amount.before));
    after.emplace(amount.resource, amountText(amount.id, amount.after));
  }
  return {{"name", node.name},
          {"allocatable", std::move(allocatable)},
          {"requestedBefore", std::move(before)},
          {"requestedAfter", std::move(after)}};
}

}  // namespace

Result<std::vector<WhatIfMove>> readWhatIf(const Scheduler& scheduler, std::string_view body) {
  auto document = parseJson(body);
  if (!document) return fail(std::move(document.error()));
  const json::value* pods = find(*document, "pods");
  if (!pods || !pods->is_array())
    return fail(ErrorCode::Invalid, R"(expected {"pods": [{"pod": {...}, ...}]})");
  const json::array& list = pods->get_array();
  if (list.size() > kMaxWhatIfMoves)
    return fail(ErrorCode::Invalid, fmt::format("pods: {} exceed the limit of {} per request",
                                                list.size(), kMaxWhatIfMoves));
  std::vector<WhatIfMove> moves;
  moves.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto move = readMove(scheduler, list[i], i);
    if (!move) return fail(std::move(move.error()));
    moves.push_back(*std::move(move));
  }
  return moves;
}

json::value whatIfJson(const std::vector<WhatIfMove>& moves, const WhatIfAnswer& answer) {
  json::array pods, nodes;
  std::size_t placed = 0;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const WhatIfPlace& place = answer.places[i];
    const api::ObjectMeta& meta = moves[i].pod->metadata;
    json::object pod{{"namespace", meta.namespace_},
                     {"name", meta.name},
                     {"uid", meta.uid},
                     {"state", json::string(nameOf(place.state))}};
    if (place.state == WhatIfPlace::State::Placed) {
      ++placed;
      pod.emplace("node", place.node);
      pod.emplace("feasibleNodes", place.feasible);
    } else {
      pod.emplace("message", place.message);
      pod.emplace("reasons", reasonsJson(place.reasons));
    }
    pods.push_back(std::move(pod));
  }
  for (const WhatIfNode& node : answer.nodes) nodes.push_back(nodeJson(node));
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(answer.took).count();
  return json::object{{"placed", placed},
                      {"pods", std::move(pods)},
                      {"nodes", std::move(nodes)},
                      {"durationMicroseconds", took}};
}

}  // namespace koord::scheduler
