#include "scheduler/oracle/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "api/codec.h"
#include "scheduler/oracle/kinds.h"

namespace koord::scheduler::oracle {

namespace {

enum class Workload { None, Deployment, ReplicaSet, StatefulSet, Job };

Workload workloadOf(const QuestionObject& object) {
  if (object.group == "batch" && object.kind == "Job") return Workload::Job;
  if (object.group != "apps") return Workload::None;
  if (object.kind == "Deployment") return Workload::Deployment;
  if (object.kind == "ReplicaSet") return Workload::ReplicaSet;
  return object.kind == "StatefulSet" ? Workload::StatefulSet : Workload::None;
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
  Expander(Expansion& out, std::size_t maxPods) : out_(out), maxPods_(maxPods) {}

  Result<> add(const QuestionObject& object) {
    auto added = addOne(object);
    if (added) return {};
    return fail(std::move(added.error()).within(object.path));
  }

 private:
  Result<> addOne(const QuestionObject& object) {
    if (object.group.empty() && object.kind == "Pod") return addPod(object);
    if (object.group.empty() && object.kind == "Node") {
      out_.nodes.push_back(object.document);
      return {};
    }
    const Workload workload = workloadOf(object);
    if (workload != Workload::None) return addWorkload(object, workload);
    const StoredKind* kind = storedKind(object.group, object.kind);
    if (!kind) {
      out_.ignored.push_back(fmt::format("{} {}", object.kind, nameOf(object)));
      return {};
    }
    return addStored(object, kind->type.namespaced);
  }

  static std::string_view nameOf(const QuestionObject& object) {
    return textAt(object.document, "metadata", "name");
  }
  static std::string namespaceOf(const QuestionObject& object) {
    return object.namespace_.empty() ? "default" : object.namespace_;
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
    pod->status = {};
    addDefaults(*pod);
    push(std::make_shared<api::Pod>(*std::move(pod)), "");
    return {};
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
    const auto completions = number("completions");
    if (!completions) return fail(Error(completions.error()));
    return *completions ? std::min(pods, **completions) : pods;
  }

  Result<> addWorkload(const QuestionObject& object, Workload workload) {
    const std::string name(nameOf(object));
    if (name.empty()) return fail(ErrorCode::Invalid, "metadata.name: is required");
    const json::value* pattern = at(object.document, "spec", "template");
    if (!pattern || !pattern->is_object())
      return fail(ErrorCode::Invalid, "spec.template: must be an object");
    const auto count = countOf(object, workload);
    if (!count) return fail(Error(count.error()));
    auto pod = api::decode<api::Pod>(*pattern);
    if (!pod) return fail(std::move(pod.error()).within("spec.template"));
    pod->metadata.namespace_ = namespaceOf(object);
    addDefaults(*pod);
    api::OwnerReference owner;
    owner.apiVersion = workload == Workload::Job ? "batch/v1" : "apps/v1";
    owner.kind = workload == Workload::Deployment ? "ReplicaSet" : object.kind;
    owner.name = workload == Workload::Deployment ? name + "-simulated" : name;
    owner.uid = nextUid();
    owner.controller = true;
    if (workload != Workload::Job) addSelection(object, owner);
    pod->metadata.ownerReferences.clear();
    pod->metadata.ownerReferences.push_back(owner);
    const std::string of = fmt::format("{} {}/{}", object.kind, pod->metadata.namespace_, name);
    for (std::int64_t i = 0; i < *count; ++i) {
      if (out_.pods.size() >= maxPods_) {
        out_.leftOut += static_cast<std::uint64_t>(*count - i);
        break;
      }
      auto one = std::make_shared<api::Pod>(*pod);
      one->metadata.name = fmt::format("{}-{}", owner.name, i);
      push(std::move(one), of);
    }
    return {};
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

  void push(std::shared_ptr<api::Pod> pod, std::string of) {
    if (out_.pods.size() >= maxPods_) {
      ++out_.leftOut;
      return;
    }
    pod->metadata.uid = nextUid();
    out_.pods.push_back({std::move(pod), std::move(of)});
  }

  std::string nextUid() { return fmt::format("simulated-{}", ++uids_); }

  Expansion& out_;
  const std::size_t maxPods_;
  std::uint64_t uids_ = 0;
};

}  // namespace

Result<Expansion> expand(const Question& question, std::size_t maxPods) {
  Expansion expansion;
  Expander expander(expansion, maxPods);
  for (const QuestionObject& object : question.objects)
    if (auto added = expander.add(object); !added) return fail(std::move(added.error()));
  return expansion;
}

}  // namespace koord::scheduler::oracle
