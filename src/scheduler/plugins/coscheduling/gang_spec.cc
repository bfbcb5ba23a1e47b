#include "scheduler/plugins/coscheduling/gang_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "base/time.h"
#include "base/utf8.h"
#include "model/well_known.h"

namespace koord::scheduler {

namespace {

using api::StringMap;

// The most gangs in a group, because each is visited for every member.
constexpr std::size_t kMaxGangs = 256;
constexpr std::size_t kMaxRules = 32;

constexpr std::string_view kNetworkTopologySpec =
    "gang.scheduling.koordinator.sh/network-topology-spec";

// How much of a user's text an event shows.
constexpr std::size_t kMostShown = 100;

// Accepts the same texts as Go's ParseInt with 32 bits.
std::optional<std::int64_t> parseInt32(std::string_view text) {
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  std::int32_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

// The name in spec.schedulingGroup, for pods whose labels and annotations name no gang.
std::string_view workloadGroupOf(const api::Pod& pod) {
  return pod.spec.schedulingGroup ? std::string_view(pod.spec.schedulingGroup->podGroupName)
                                  : std::string_view();
}

std::string workloadId(std::string_view namespace_, std::string_view name) {
  return fmt::format("{}/{}/{}", api::WorkloadPodGroup::kType.group, namespace_, name);
}

// The gang that labels and annotations name.
std::string_view markedGangOf(const api::Pod& pod) {
  const api::ObjectMeta& meta = pod.metadata;
  for (const std::string_view label : {model::kLabelPodGroup, model::kLabelPodGroupName})
    if (const auto name = api::textIn(meta.labels, label); !name.empty()) return name;
  return api::textIn(meta.annotations, model::kAnnotationGangName);
}

// Reads annotations and notes what is wrong with them.
class Reader {
 public:
  Reader(const StringMap& annotations, GangSpec& spec) : annotations_(annotations), spec_(spec) {}

  std::string_view text(std::string_view key) const { return api::textIn(annotations_, key); }
  void problem(std::string_view key, std::string_view what) {
    spec_.problems.push_back(fmt::format("metadata.annotations[{}]: Invalid value: \"{}\": {}", key,
                                         shortened(text(key), kMostShown), what));
  }

  void readTotal() {
    spec_.total = spec_.minimum;
    const auto given = text(model::kAnnotationGangTotalNumber);
    if (given.empty()) return;
    const auto total = parseInt32(given);
    if (!total) return problem(model::kAnnotationGangTotalNumber, "must be an integer");
    if (*total == 0) return;
    if (*total < spec_.minimum)
      return problem(model::kAnnotationGangTotalNumber,
                     fmt::format("must not be below the minimum of {} pods", spec_.minimum));
    spec_.total = *total;
  }

  void readMode() {
    const auto mode = text(model::kAnnotationGangMode);
    if (mode == "NonStrict") {
      spec_.mode = GangMode::NonStrict;
    } else if (!mode.empty() && mode != "Strict") {
      problem(model::kAnnotationGangMode, "supported values: Strict, NonStrict");
    }
  }

  void readPolicy(const std::string& standard) {
    std::string_view key = model::kAnnotationGangMatchPolicy;
    if (text(key).empty()) key = model::kAnnotationPodGroupMatchPolicy;
    if (text(key).empty()) return setPolicy(standard);
    if (known(text(key))) return setPolicy(text(key));
    problem(key, "supported values: once-satisfied, only-waiting, waiting-and-running");
    setPolicy(standard);
  }

  void readGroup(const std::string& self) {
    spec_.group = {self};
    const auto given = text(model::kAnnotationGangGroups);
    if (given.empty()) return;
    const auto document = parseJson(given);
    const json::array* list = document ? document->if_array() : nullptr;
    const bool texts = list && std::ranges::all_of(*list, [](const json::value& id) {
                         const auto* name = id.if_string();
                         return name && name->find('/') != json::string::npos;
                       });
    if (!texts)
      return problem(model::kAnnotationGangGroups,
                     R"(must be a JSON list like ["namespace/name"])");
    if (list->size() > kMaxGangs)
      return problem(model::kAnnotationGangGroups,
                     fmt::format("names {} gangs, more than {}", list->size(), kMaxGangs));
    bool itself = list->empty();
    for (const json::value& id : *list) {
      const json::string& name = id.get_string();
      itself |= std::string_view(name.data(), name.size()) == self;
      spec_.group.emplace_back(name.data(), name.size());
    }
    if (!itself) problem(model::kAnnotationGangGroups, "does not name " + self + " itself");
    std::ranges::sort(spec_.group);
    const auto twice = std::ranges::unique(spec_.group);
    spec_.group.erase(twice.begin(), twice.end());
  }

  void readNetwork() {
    const auto given = text(kNetworkTopologySpec);
    if (given.empty()) return;
    const auto document = parseJson(given);
    const json::object* spec = document ? document->if_object() : nullptr;
    const json::value* strategy = spec ? spec->if_contains("gatherStrategy") : nullptr;
    const json::array* list = strategy ? strategy->if_array() : nullptr;
    if (!spec || (strategy && !strategy->is_null() && !list))
      return problem(kNetworkTopologySpec, "must be a JSON object with a list gatherStrategy");
    std::vector<NetworkGather> rules;
    for (std::size_t i = 0; list && i < std::min(list->size(), kMaxRules); ++i)
      if (auto rule = readGather((*list)[i], i)) rules.push_back(*std::move(rule));
    if (list && list->size() > kMaxRules)
      problem(kNetworkTopologySpec,
              fmt::format("gatherStrategy: has more than {} entries", kMaxRules));
    spec_.network = std::move(rules);
  }

 private:
  // A rule of gatherStrategy; nullopt if it names no layer.
  std::optional<NetworkGather> readGather(const json::value& entry, std::size_t index) {
    const auto wrong = [&](std::string_view field, std::string_view what) {
      problem(kNetworkTopologySpec, fmt::format("gatherStrategy[{}]{}: {}", index, field, what));
    };
    const json::object* rule = entry.if_object();
    const json::value* layer = rule ? rule->if_contains("layer") : nullptr;
    if (!layer || !layer->is_string() || layer->get_string().empty()) {
      wrong(".layer", "must be the name of a layer");
      return std::nullopt;
    }
    NetworkGather gather;
    gather.layer = std::string(std::string_view(layer->get_string()));
    const json::value* strategy = rule->if_contains("strategy");
    const json::string* name = strategy ? strategy->if_string() : nullptr;
    gather.required = name && *name == "MustGather";
    if (strategy && !gather.required && !(name && (name->empty() || *name == "PreferGather")))
      wrong(".strategy", "supported values: MustGather, PreferGather");
    if (const json::value* multiple = rule->if_contains("podCountMultiple")) {
      const std::int64_t* number = multiple->if_int64();
      if (!number || *number < 0 || *number > INT32_MAX) {
        wrong(".podCountMultiple", "must be a non-negative integer");
      } else {
        gather.multiple = std::max<std::int64_t>(*number, 1);
      }
    }
    return gather;
  }

  static bool known(std::string_view policy) {
    return policy == "once-satisfied" || policy == "only-waiting" ||
           policy == "waiting-and-running";
  }
  void setPolicy(std::string_view policy) {
    spec_.policyText = policy;
    spec_.policy = policy == "only-waiting"          ? MatchPolicy::OnlyWaiting
                   : policy == "waiting-and-running" ? MatchPolicy::WaitingAndRunning
                                                     : MatchPolicy::OnceSatisfied;
  }

  const StringMap& annotations_;
  GangSpec& spec_;
};

void readShared(const StringMap& annotations, const std::string& self, const CoschedulingArgs& args,
                GangSpec& spec) {
  Reader reader(annotations, spec);
  reader.readTotal();
  reader.readMode();
  reader.readPolicy(args.defaultMatchPolicy);
  reader.readGroup(self);
  reader.readNetwork();
}

// The minimum in the lightweight protocol: from a label, else from an annotation.
struct Minimum {
  std::string_view path;
  std::string_view key;
  std::string_view text;
  bool there = false;
};
Minimum minimumOf(const api::Pod& pod) {
  const auto label = api::textIn(pod.metadata.labels, model::kLabelPodGroupMinAvailable);
  if (!label.empty()) return {"metadata.labels", model::kLabelPodGroupMinAvailable, label, true};
  const auto* annotation =
      api::findIn(pod.metadata.annotations, model::kAnnotationGangMinAvailable);
  return {"metadata.annotations", model::kAnnotationGangMinAvailable,
          annotation ? std::string_view(*annotation) : std::string_view(), annotation != nullptr};
}

}  // namespace

std::string GangSpec::groupId() const {
  return fmt::format("{}", fmt::join(group, ","));
}

std::string_view gangNameOf(const api::Pod& pod) {
  const std::string_view marked = markedGangOf(pod);
  return marked.empty() ? workloadGroupOf(pod) : marked;
}

std::string gangIdOf(const api::Pod& pod) {
  const std::string_view name = markedGangOf(pod);
  if (name.empty()) {
    const std::string_view workload = workloadGroupOf(pod);
    return workload.empty() ? std::string() : workloadId(pod.metadata.namespace_, workload);
  }
  std::string id;
  id.reserve(pod.metadata.namespace_.size() + 1 + name.size());
  id.append(pod.metadata.namespace_).append("/").append(name);
  return id;
}

std::string gangIdOf(const api::WorkloadPodGroup& group) {
  return workloadId(group.metadata.namespace_, group.metadata.name);
}

bool maySpecify(const api::Pod& pod) {
  return api::textIn(pod.metadata.labels, model::kLabelPodGroup).empty() &&
         !markedGangOf(pod).empty();
}

GangSpec gangSpecOf(const api::PodGroup& group, const CoschedulingArgs& args) {
  GangSpec spec;
  spec.fromPodGroup = true;
  spec.minimum = group.spec.minMember;
  spec.created = group.metadata.creationTimestamp.value_or(WallTime());
  spec.minResources = group.spec.minResources;
  if (spec.minimum < 0) {
    spec.problems.push_back(fmt::format(
        "spec.minMember: Invalid value: {}: must not be negative; no member waits for others",
        spec.minimum));
  }
  readShared(group.metadata.annotations, api::keyOf(group.metadata).toString(), args, spec);
  spec.waitTime = args.defaultTimeout;
  if (const auto seconds = group.spec.scheduleTimeoutSeconds) {
    if (*seconds > 0) {
      spec.waitTime = std::chrono::seconds(*seconds);
    } else {
      spec.problems.push_back(
          fmt::format("spec.scheduleTimeoutSeconds: Invalid value: {}: must be above 0", *seconds));
    }
  }
  return spec;
}

GangSpec gangSpecOf(const api::WorkloadPodGroup& group, const CoschedulingArgs& args) {
  GangSpec spec;
  spec.fromPodGroup = true;
  spec.created = group.metadata.creationTimestamp.value_or(WallTime());
  spec.waitTime = args.defaultTimeout;
  spec.policy = MatchPolicy::WaitingAndRunning;
  spec.policyText = "waiting-and-running";
  spec.group = {gangIdOf(group)};
  const api::PodGroupSchedulingPolicy& policy = group.spec.schedulingPolicy;
  spec.basic = !policy.gang;
  if (policy.gang) spec.minimum = policy.gang->minCount;
  if (policy.gang && spec.minimum < 1) {
    spec.problems.push_back(
        fmt::format("spec.schedulingPolicy.gang.minCount: Invalid value: {}: must be above 0; no "
                    "member waits for others",
                    spec.minimum));
  }
  if (!policy.gang && !policy.basic.is_object())
    spec.problems.emplace_back(
        "spec.schedulingPolicy: Required value: one of basic and gang; each member is placed by "
        "itself");
  spec.total = spec.minimum;
  if (group.spec.schedulingConstraints) {
    const auto& keys = group.spec.schedulingConstraints->topology;
    if (!keys.empty()) spec.topologyKey = keys[0].key;
    if (keys.size() > 1)
      spec.problems.push_back(
          fmt::format("spec.schedulingConstraints.topology: Too many: {}: must have at most 1 item;"
                      " only {} is used",
                      keys.size(), spec.topologyKey));
  }
  return spec;
}

Result<GangSpec> gangSpecOf(const api::Pod& pod, const CoschedulingArgs& args) {
  const Minimum minimum = minimumOf(pod);
  const auto number = parseInt32(minimum.text);
  if (!number) {
    return fail(ErrorCode::Invalid,
                minimum.there
                    ? fmt::format("{}[{}]: Invalid value: \"{}\": must be an integer", minimum.path,
                                  minimum.key, shortened(minimum.text, kMostShown))
                    : fmt::format("{}[{}]: Required value: how many pods the gang needs",
                                  minimum.path, minimum.key));
  }
  GangSpec spec;
  spec.minimum = *number;
  spec.created = pod.metadata.creationTimestamp.value_or(WallTime());
  if (*number < 0) {
    spec.problems.push_back(
        fmt::format("{}[{}]: Invalid value: {}: must not be negative; no member waits for others",
                    minimum.path, minimum.key, *number));
  }
  readShared(pod.metadata.annotations, gangIdOf(pod), args, spec);
  spec.waitTime = args.defaultTimeout;
  const auto given = api::textIn(pod.metadata.annotations, model::kAnnotationGangWaitingTime);
  if (!given.empty()) {
    const auto wait = parseDuration(given);
    if (wait && *wait > Duration::zero()) {
      spec.waitTime = *wait;
    } else {
      spec.problems.push_back(fmt::format(
          "metadata.annotations[{}]: Invalid value: \"{}\": must be a duration above 0 like 600s",
          model::kAnnotationGangWaitingTime, shortened(given, kMostShown)));
    }
  }
  return spec;
}

}  // namespace koord::scheduler
