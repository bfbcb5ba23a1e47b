#include "descheduler/migration/writer.h"

#include "kube/client.h"

namespace koord::descheduler {

Task<Result<JobPtr>> JobWriter::keep(Task<Result<json::value>> writing) {
  auto written = co_await writing;
  if (!written) co_return fail(std::move(written.error()));
  auto job = api::decode<api::PodMigrationJob>(*written);
  if (!job) co_return fail(std::move(job.error()));
  JobPtr now = std::make_shared<const api::PodMigrationJob>(*std::move(job));
  jobs_.learn(now);
  co_return now;
}

Task<Result<JobPtr>> JobWriter::create(json::object job) {
  auto keeping =
      keep(kube::createObject(handle_.api(), api::PodMigrationJob::kType, {}, std::move(job)));
  auto done = co_await keeping;
  co_return done;
}

Task<Result<JobPtr>> JobWriter::change(JobPtr job, json::object patch) {
  json::value& metadata = patch["metadata"];
  if (!metadata.is_object()) metadata = json::object();
  metadata.get_object()["uid"] = job->metadata.uid;
  metadata.get_object()["resourceVersion"] = job->metadata.resourceVersion;
  auto keeping = keep(kube::mergePatch(handle_.api(), api::PodMigrationJob::kType,
                                       api::keyOf(job->metadata), std::move(patch)));
  auto done = co_await keeping;
  co_return done;
}

Task<Result<JobPtr>> JobWriter::setStatus(JobPtr job, api::PodMigrationJobStatus status) {
  json::value written = api::encode(status);
  // Empty fields must be written: a merge patch does not remove absent ones.
  for (const char* field : {"phase", "status", "reason", "message", "nodeName"})
    if (!find(written, field)) written.get_object()[field] = "";
  json::object patch{{"metadata", json::object{{"uid", job->metadata.uid},
                                               {"resourceVersion", job->metadata.resourceVersion}}},
                     {"status", std::move(written)}};
  auto keeping = keep(kube::mergePatch(handle_.api(), api::PodMigrationJob::kType,
                                       api::keyOf(job->metadata), std::move(patch), "status"));
  auto done = co_await keeping;
  co_return done;
}

void JobWriter::recordEvent(const api::PodMigrationJob& job, std::string_view type,
                            std::string_view reason, std::string message) {
  handle_.events().record(kube::referenceTo(api::PodMigrationJob::kType, job.metadata), type,
                          reason, std::move(message), "Migrating");
}

}  // namespace koord::descheduler
