#pragma once

// ControllerRevisions: the templates that a StatefulSet or DaemonSet has and had, numbered, so that
// pods of an older one can be made again and `kubectl rollout undo` finds its way back.

#include <set>

#include "api/workloads.h"
#include "cluster/controllers/ownership.h"

namespace koord::cluster {

using RevisionPtr = std::shared_ptr<const api::ControllerRevision>;

class History {
 public:
  // The set whose templates these are.
  struct Of {
    Owner owner;
    const std::optional<api::LabelSelector>& selector;
    const json::value& podTemplate;
  };

  // hashLabel: under which a revision has its template's hash.
  History(kube::Api& api, kube::Informer<api::ControllerRevision>& revisions, std::string hashLabel)
      : api_(api), revisions_(revisions), hashLabel_(std::move(hashLabel)) {}

  struct Revisions {
    std::vector<RevisionPtr> known;  // as found, the oldest first
    RevisionPtr current;             // of the template as it is now
  };
  // Orphans that the selector matches are adopted. The current revision becomes the newest: it is
  // made, or gets the highest number.
  Task<Result<Revisions>> lookUp(Of set);
  // Deletes the oldest revisions that are not in use (by name or hash), but for `limit` of them.
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

// The pod template that a revision holds.
json::value templateOf(const api::ControllerRevision& revision);

}  // namespace koord::cluster
