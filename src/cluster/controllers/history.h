#pragma once

// ControllerRevisions: the numbered current and past templates of a StatefulSet or DaemonSet, so
// that pods of an older template can be created again and `kubectl rollout undo` works.

#include <set>

#include "api/workloads.h"
#include "cluster/controllers/ownership.h"

namespace koord::cluster {

using RevisionPtr = std::shared_ptr<const api::ControllerRevision>;

class History {
 public:
  // The set that owns the templates.
  struct Of {
    Owner owner;
    const std::optional<api::LabelSelector>& selector;
    const json::value& podTemplate;
  };

  // hashLabel: the label of a revision with its template's hash.
  History(kube::Api& api, kube::Informer<api::ControllerRevision>& revisions, std::string hashLabel)
      : api_(api), revisions_(revisions), hashLabel_(std::move(hashLabel)) {}

  struct Revisions {
    std::vector<RevisionPtr> known;  // as found, the oldest first
    RevisionPtr current;             // of the current template
  };
  // Adopts orphans that the selector matches. Makes the current revision the newest: creates it, or
  // gives it the highest number.
  Task<Result<Revisions>> lookUp(Of set);
  // Deletes the oldest revisions that are not in use (by name or hash), except for `limit` of them.
  Task<Result<>> trim(std::vector<RevisionPtr> known, std::set<std::string> inUse, int limit);

  std::string hashOf(const api::ControllerRevision& revision) const;

 private:
  Task<Result<std::vector<RevisionPtr>>> all(Of set);
  Task<Result<RevisionPtr>> current(Of set, std::vector<RevisionPtr> known);
  Task<Result<RevisionPtr>> create(Of set, std::int64_t number);

  kube::Api& api_;
  kube::Informer<api::ControllerRevision>& revisions_;
  std::string hashLabel_;
};

// The pod template in a revision.
json::value templateOf(const api::ControllerRevision& revision);

}  // namespace koord::cluster
