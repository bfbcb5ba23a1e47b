#include "scheduler/oracle/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "api/codec.h"
#include "scheduler/oracle/kinds.h"

namespace koord::scheduler::oracle {

namespace {

// More pods are not counted.
constexpr std::uint64_t kMaxLeftOut = 1'000'000'000'000;

bool isCore(const QuestionObject& object, std::string_view kind) {
  return object.group.empty() && object.kind == kind;
}

// What only servers set: a new pod is not deleted, and has no status.
void reset(api::Pod& pod) {
  pod.metadata.deletionTimestamp.reset();
  pod.status = {};
}

// The API server sets requests that a container leaves out to its limits.
void addDefaults(api::Pod& pod) {
  if (pod.metadata.namespace_.empty()) pod.metadata.namespace_ = "default";
  if (pod.spec.schedulerName.empty()) pod.spec.schedulerName = "default-scheduler";
  for (auto* containers : {&pod.spec.containers, &pod.spec.initContainers})
    for (api::Container& container : *containers)
      for (const auto& [name, amount] : container.resources.limits)
        container.resources.requests.try_emplace(name, amount);
}

class Expander {
 public:
  Expander(Expansion& out, std::size_t maxPods, const PodExists& exists, const PodCounts& existing)
      : out_(out), maxPods_(maxPods), exists_(exists), existing_(existing) {}

  Result<> add(const QuestionObject& object) {
    auto added = addOne(object);
    if (added) return {};
    return fail(std::move(added.error()).within(object.path));
  }

 private:
  Result<> addOne(const QuestionObject& object) {
    if (!isSimulated(object)) {
      out_.notes.push_back(fmt::format("{} {} is not simulated", object.kind, nameOf(object)));
      return {};
    }
    if (isCore(object, "Pod")) return addPod(object);
    if (isCore(object, "Node")) {
      out_.nodes.push_back(object.document);
      return {};
    }
    const Workload workload = workloadOf(object);
    if (workload != Workload::None) return addWorkload(object, workload);
    return addStored(object, storedKind(object.group, object.kind)->type.namespaced);
  }

  static std::string_view nameOf(const QuestionObject& object) {
    return textAt(object.document, "metadata", "name");
  }

  Result<> addStored(const QuestionObject& object, bool namespaced) {
    json::value document = object.document;
    auto& metadata = document.get_object()["metadata"];
    if (!metadata.is_object() || nameOf(object).empty())
      return fail(ErrorCode::Invalid, "metadata.name: is required");
    if (namespaced) metadata.get_object()["namespace"] = namespaceOf(object);
    metadata.get_object()["uid"] = nextUid();
    metadata.get_object()["resourceVersion"] = "simulated";
    out_.objects.push_back(std::move(document));
    return {};
  }

  Result<> addPod(const QuestionObject& object) {
    auto pod = api::decode<api::Pod>(object.document);
    if (!pod) return fail(std::move(pod.error()));
    if (pod->metadata.name.empty() && pod->metadata.generateName.view().empty())
      return fail(ErrorCode::Invalid, "metadata.name: is required");
    if (!pod->spec.nodeName.empty())
      return fail(ErrorCode::Invalid, "spec.nodeName: a simulated pod has no node yet");
    if (pod->metadata.name.empty())
      pod->metadata.name = fmt::format("{}{}", pod->metadata.generateName.view(), out_.pods.size());
    addDefaults(*pod);
    if (exists_ && exists_(api::keyOf(pod->metadata)))
      return fail(ErrorCode::Invalid,
                  fmt::format("metadata.name: pod \"{}\" exists in namespace \"{}\"",
                              pod->metadata.name, pod->metadata.namespace_));
    return push(std::make_shared<api::Pod>(*std::move(pod)), "");
  }

  Result<std::int64_t> countOf(const QuestionObject& object, Workload workload) {
    const bool job = workload == Workload::Job;
    const auto number = [&](const char* field) -> Result<std::optional<std::int64_t>> {
      const json::value* value = at(object.document, "spec", field);
      if (!value || value->is_null()) return std::nullopt;
      const auto whole = wholeNumber(*value);
      if (!whole || *whole < 0)
        return fail(ErrorCode::Invalid, fmt::format("spec.{}: must be a number from 0", field));
      return whole;
    };
    const auto count = number(job ? "parallelism" : "replicas");
    if (!count) return fail(Error(count.error()));
    std::int64_t pods = count->value_or(1);
    if (!job) return pods;
    if (const json::value* suspend = at(object.document, "spec", "suspend");
        suspend && *suspend == json::value(true)) {
      out_.notes.push_back(fmt::format("Job {} is suspended: it has no pods", nameOf(object)));
      return 0;
    }
    const auto completions = number("completions");
    if (!completions) return fail(Error(completions.error()));
    if (existing_.contains(object.path)) return stillToRun(object, pods, *completions);
    return *completions ? std::min(pods, **completions) : pods;
  }

  // Of a Job that exists: the pods that run at once from now on.
  std::int64_t stillToRun(const QuestionObject& job, std::int64_t parallelism,
                          std::optional<std::int64_t> completions) {
    const json::value& status = memberOf(job.document, "status");
    if (hasEnded(status)) {
      out_.notes.push_back(
          fmt::format("Job {}/{} has ended: it has no pods", namespaceOf(job), nameOf(job)));
      return 0;
    }
    const std::int64_t succeeded = wholeNumber(memberOf(status, "succeeded")).value_or(0);
    if (succeeded <= 0) return completions ? std::min(parallelism, *completions) : parallelism;
    // Without a number of completions, a Job creates no pods after the first success.
    const std::int64_t left = completions ? std::max<std::int64_t>(0, *completions - succeeded) : 0;
    out_.notes.push_back(fmt::format("Job {}/{}: {} of its pods have succeeded", namespaceOf(job),
                                     nameOf(job), succeeded));
    return std::min(parallelism, left);
  }

  static bool hasEnded(const json::value& status) {
    const json::value& conditions = memberOf(status, "conditions");
    if (!conditions.is_array()) return false;
    return std::ranges::any_of(conditions.get_array(), [](const json::value& condition) {
      const auto type = textAt(condition, "type");
      return (type == "Complete" || type == "Failed") && textAt(condition, "status") == "True";
    });
  }

  Result<> addWorkload(const QuestionObject& object, Workload workload) {
    const std::string name(nameOf(object));
    if (name.empty()) return fail(ErrorCode::Invalid, "metadata.name: is required");
    const json::value* pattern = at(object.document, "spec", "template");
    if (!pattern || !pattern->is_object())
      return fail(ErrorCode::Invalid, "spec.template: must be an object");
    auto count = countOf(object, workload);
    if (!count) return fail(Error(count.error()));
    if (workload != Workload::StatefulSet) *count -= existingOf(object, *count);
    auto pod = api::decode<api::Pod>(*pattern);
    if (!pod) return fail(std::move(pod.error()).within("spec.template"));
    if (!pod->spec.nodeName.empty())
      return fail(ErrorCode::Invalid,
                  "spec.template.spec.nodeName: no scheduler places pods that have a node");
    pod->metadata.namespace_ = namespaceOf(object);
    addDefaults(*pod);
    const api::OwnerReference owner = ownerOf(object, workload, name);
    if (workload != Workload::Job) addSelection(object, owner);
    pod->metadata.ownerReferences.clear();
    pod->metadata.ownerReferences.push_back(owner);
    noteClaims(object);
    return addReplicas(*pod, owner.name, {object.kind, pod->metadata.namespace_, name}, *count,
                       workload == Workload::StatefulSet);
  }

  // How many of the workload's pods need not be created, because they exist.
  std::int64_t existingOf(const QuestionObject& object, std::int64_t count) {
    const auto pods = existing_.find(object.path);
    if (pods == existing_.end()) return 0;
    const std::int64_t existing = std::min(count, static_cast<std::int64_t>(pods->second));
    out_.notes.push_back(fmt::format("{} {}/{} exists with {} pods, which stay; created: {}",
                                     object.kind, namespaceOf(object), nameOf(object), pods->second,
                                     count - existing));
    return existing;
  }

  api::OwnerReference ownerOf(const QuestionObject& object, Workload workload,
                              const std::string& name) {
    const bool deployed = workload == Workload::Deployment;
    api::OwnerReference owner;
    owner.apiVersion = std::string(textAt(object.document, "apiVersion"));
    owner.kind = deployed ? "ReplicaSet" : object.kind;
    owner.name = deployed ? name + "-simulated" : name;
    owner.uid = nextUid();
    owner.controller = true;
    return owner;
  }

  struct Of {
    std::string kind, namespace_, name;
  };
  // A StatefulSet names its pods: if some exist, it creates only the others.
  Result<> addReplicas(const api::Pod& pattern, const std::string& base, const Of& of,
                       std::int64_t count, bool named) {
    const std::string text = fmt::format("{} {}/{}", of.kind, of.namespace_, of.name);
    std::int64_t existing = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      if (out_.pods.size() >= maxPods_) {
        out_.leftOut = std::min(kMaxLeftOut, out_.leftOut + static_cast<std::uint64_t>(count - i));
        break;
      }
      auto one = std::make_shared<api::Pod>(pattern);
      one->metadata.name = fmt::format("{}-{}", base, i);
      if (named && exists_ && exists_(api::keyOf(one->metadata))) {
        ++existing;
        continue;
      }
      if (auto pushed = push(std::move(one), text); !pushed) return pushed;
    }
    if (existing > 0)
      out_.notes.push_back(
          fmt::format("{}: {} of its pods exist; only the others are created", text, existing));
    return {};
  }

  void noteClaims(const QuestionObject& object) {
    const json::value* claims = at(object.document, "spec", "volumeClaimTemplates");
    if (claims && claims->is_array() && !claims->get_array().empty())
      out_.notes.push_back(fmt::format(
          "{} {}: volumeClaimTemplates are not simulated, volumes do not restrict its pods",
          object.kind, nameOf(object)));
  }

  // Spreading constraints that a pod has by default count the pods of its set.
  void addSelection(const QuestionObject& object, const api::OwnerReference& owner) {
    json::object metadata{{"name", owner.name},
                          {"namespace", namespaceOf(object)},
                          {"uid", owner.uid},
                          {"resourceVersion", "simulated"}};
    json::object spec;
    if (const json::value* selector = at(object.document, "spec", "selector"))
      spec.emplace("selector", *selector);
    out_.objects.push_back(json::object{{"apiVersion", owner.apiVersion},
                                        {"kind", owner.kind},
                                        {"metadata", std::move(metadata)},
                                        {"spec", std::move(spec)}});
  }

  Result<> push(std::shared_ptr<api::Pod> pod, std::string of) {
    if (out_.pods.size() >= maxPods_) {
      ++out_.leftOut;
      return {};
    }
    if (!keys_.insert(api::keyOf(pod->metadata)).second)
      return fail(ErrorCode::Invalid, fmt::format("pod \"{}\" occurs twice in namespace \"{}\"",
                                                  pod->metadata.name, pod->metadata.namespace_));
    noteAdmission(*pod);
    reset(*pod);
    pod->metadata.uid = nextUid();
    out_.pods.push_back({std::move(pod), std::move(of)});
    return {};
  }

  // The API server's admission sets the priority of a class.
  void noteAdmission(const api::Pod& pod) {
    const std::string name(std::string_view(pod.spec.priorityClassName));
    if (name.empty() || pod.spec.priority || !unresolved_.insert(name).second) return;
    out_.notes.push_back(fmt::format(
        "spec.priority is missing: pods of priority class \"{}\" count as of priority 0", name));
  }

  std::string nextUid() { return fmt::format("simulated-{}", ++uids_); }

  Expansion& out_;
  const std::size_t maxPods_;
  const PodExists& exists_;
  const PodCounts& existing_;
  std::unordered_set<api::ObjectKey> keys_;
  std::unordered_set<std::string> unresolved_;  // priority classes
  std::uint64_t uids_ = 0;
};

}  // namespace

Workload workloadOf(const QuestionObject& object) {
  if (object.group.empty() && object.kind == "ReplicationController")
    return Workload::ReplicationController;
  if (object.group == "batch" && object.kind == "Job") return Workload::Job;
  if (object.group != "apps") return Workload::None;
  if (object.kind == "Deployment") return Workload::Deployment;
  if (object.kind == "ReplicaSet") return Workload::ReplicaSet;
  return object.kind == "StatefulSet" ? Workload::StatefulSet : Workload::None;
}

bool isSimulated(const QuestionObject& object) {
  return isCore(object, "Pod") || isCore(object, "Node") || workloadOf(object) != Workload::None ||
         storedKind(object.group, object.kind);
}

Result<Expansion> expand(const Question& question, std::size_t maxPods, const PodExists& exists,
                         const PodCounts& existing) {
  Expansion expansion;
  Expander expander(expansion, maxPods, exists, existing);
  for (const QuestionObject& object : question.objects)
    if (auto added = expander.add(object); !added) return fail(std::move(added.error()));
  return expansion;
}

}  // namespace koord::scheduler::oracle
