#include "scheduler/oracle/starts/starts_question.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/time.h"

namespace koord::scheduler::oracle {

namespace {

constexpr std::int64_t kMaxCount = 1'000'000'000;
constexpr std::int64_t kMaxDeadline = 100LL * 365 * 86'400;  // seconds

std::unexpected<Error> misread(const std::string& path, std::string_view why) {
  return fail(ErrorCode::Invalid, fmt::format("{}: {}", path, why));
}

Result<> readTargets(const json::value& when, const char* field, StartTarget::Kind kind,
                     std::vector<StartTarget>& targets) {
  const json::value& list = memberOf(when, field);
  const std::string path = fmt::format("spec.when.{}", field);
  if (list.is_null()) return {};
  if (!list.is_array()) return misread(path, "must be a list");
  for (std::size_t i = 0; i < list.get_array().size(); ++i) {
    const json::value& entry = list.get_array()[i];
    const std::string_view text =
        entry.is_string() ? std::string_view(entry.get_string()) : std::string_view();
    const auto slash = text.find('/');
    const bool named = kind == StartTarget::Kind::Quota
                           ? !text.empty() && slash == text.npos
                           : slash != text.npos && slash > 0 && slash + 1 < text.size();
    if (!named)
      return misread(fmt::format("{}[{}]", path, i), kind == StartTarget::Kind::Quota
                                                         ? "must be the name of a quota"
                                                         : "must be a text NAMESPACE/NAME");
    if (targets.size() >= kMaxStartTargets)
      return misread("spec.when", fmt::format("must have at most {} items", kMaxStartTargets));
    StartTarget target{.kind = kind, .namespace_ = "", .name = std::string(text)};
    if (kind != StartTarget::Kind::Quota) {
      target.namespace_ = text.substr(0, slash);
      target.name = text.substr(slash + 1);
    }
    targets.push_back(std::move(target));
  }
  return {};
}

std::optional<std::int64_t> countAt(const json::value& object, const char* name) {
  const auto number = wholeNumber(memberOf(object, name));
  if (!number || *number < 0) return std::nullopt;
  return std::min(*number, kMaxCount);
}

// Fields that cannot be read count as absent: the API server has accepted the Job.
KnownJob jobOf(const json::value& document) {
  const json::value& spec = memberOf(document, "spec");
  const json::value& status = memberOf(document, "status");
  KnownJob job;
  job.parallelism =
      memberOf(spec, "suspend") == json::value(true) ? 0 : countAt(spec, "parallelism").value_or(1);
  job.completions = countAt(spec, "completions");
  job.succeeded = countAt(status, "succeeded").value_or(0);
  const auto seconds = countAt(spec, "activeDeadlineSeconds");
  if (const auto start = parseTime(textAt(status, "startTime")); start && seconds)
    job.deadline = *start + std::chrono::seconds(std::min(*seconds, kMaxDeadline));
  job.podSpec = memberOf(memberOf(spec, "template"), "spec");
  return job;
}

}  // namespace

Result<std::optional<StartsQuestion>> readStarts(const json::value& when) {
  if (when.is_null()) return std::nullopt;
  if (!when.is_object()) return misread("spec.when", "must be an object");
  for (const auto& member : when.get_object()) {
    const std::string_view name = member.key();
    if (name != "pods" && name != "gangs" && name != "quotas" && name != "jobs")
      return misread(fmt::format("spec.when.{}", name), "unknown field");
  }
  StartsQuestion question;
  using Kind = StartTarget::Kind;
  for (const auto& [field, kind] :
       {std::pair{"pods", Kind::Pod}, {"gangs", Kind::Gang}, {"quotas", Kind::Quota}})
    if (auto read = readTargets(when, field, kind, question.targets); !read)
      return fail(std::move(read.error()));
  if (question.targets.empty()) return misread("spec.when", "must name a pod, a gang or a quota");
  const json::value& jobs = memberOf(when, "jobs");
  if (jobs.is_null()) return question;
  if (!jobs.is_array()) return misread("spec.when.jobs", "must be a list");
  if (jobs.get_array().size() > kMaxStartJobs)
    return misread("spec.when.jobs", fmt::format("must have at most {} items", kMaxStartJobs));
  for (std::size_t i = 0; i < jobs.get_array().size(); ++i) {
    const json::value& job = jobs.get_array()[i];
    const std::string_view uid = textAt(job, "metadata", "uid");
    if (uid.empty())
      return misread(fmt::format("spec.when.jobs[{}].metadata.uid", i), "is required");
    question.jobs.insert_or_assign(std::string(uid), jobOf(job));
  }
  return question;
}

}  // namespace koord::scheduler::oracle
