#include "koordctl/common/active_jobs.h"

#include "api/workloads.h"
#include "kube/client.h"

namespace koord::koordctl {

namespace {

constexpr std::size_t kMaxText = 2 << 20;  // of all; a question has 3 MiB at most
constexpr std::size_t kMaxJobs = 10'000;

json::object fieldsOf(const json::value& object, std::initializer_list<const char*> names) {
  json::object fields;
  for (const char* name : names)
    if (const json::value* found = find(object, name)) fields.emplace(name, *found);
  return fields;
}

}  // namespace

json::array activeJobsIn(const json::value& list) {
  json::array jobs;
  std::size_t text = 0;
  const json::value& items = memberOf(list, "items");
  if (!items.is_array()) return jobs;
  for (const json::value& job : items.get_array()) {
    const auto active = wholeNumber(memberOf(memberOf(job, "status"), "active"));
    if (!active || *active <= 0) continue;
    const json::value& spec = memberOf(job, "spec");
    json::object kept =
        fieldsOf(spec, {"parallelism", "completions", "suspend", "activeDeadlineSeconds"});
    kept.emplace("template",
                 json::object{{"spec", fieldsOf(memberOf(memberOf(spec, "template"), "spec"),
                                                {"nodeSelector", "tolerations", "affinity",
                                                 "topologySpreadConstraints"})}});
    json::object document{
        {"metadata", fieldsOf(memberOf(job, "metadata"), {"uid"})},
        {"spec", std::move(kept)},
        {"status", fieldsOf(memberOf(job, "status"), {"startTime", "succeeded"})}};
    text += toJson(document).size();
    if (text > kMaxText || jobs.size() >= kMaxJobs) break;
    jobs.push_back(std::move(document));
  }
  return jobs;
}

Task<json::array> activeJobs(kube::Api& api, std::string namespace_) {
  for (const std::string& space : {std::string(), namespace_}) {
    auto listing = kube::listObjects(api, api::Job::kType, space, "", "");
    const auto list = co_await listing;
    if (list) co_return activeJobsIn(*list);
    if (list.error().code != ErrorCode::Forbidden) break;
  }
  co_return json::array();
}

}  // namespace koord::koordctl
