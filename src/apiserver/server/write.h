#pragma once

// Carries out one write: create, update, patch, delete and the subresources that change objects. A
// WriteCall lives for one request.

#include "apiserver/managed/managed_fields.h"
#include "apiserver/server/crd_cleanup.h"
#include "apiserver/server/server.h"

namespace koord::apiserver {

struct Written {
  Bytes text;
  int status = 200;
};

// Validates DeleteOptions, also those in an Eviction.
Outcome<> checkDeleteOptions(const json::value& options);
bool wantsDryRun(const json::value& deleteOptions);

class WriteCall {
 public:
  WriteCall(Server& server, const Call& call) : server_(server), call_(call) {}

  Task<Outcome<Written>> run();
  std::vector<std::string>& warnings() { return warnings_; }
  // What admission adds to the audit event.
  std::map<std::string, std::string>& annotations() { return annotations_; }
  // The name of the object that is created; "" if the request names it.
  const std::string& newName() const { return newName_; }
  // Returns true if a change of this call was reverted because the storage failed.
  bool onReverted() const;

 private:
  // Returns the object that replaces `old`.
  using Change = std::function<Outcome<json::value>(const json::value& old, WriteCall& call)>;

  Task<Outcome<Written>> create();
  Task<Outcome<Written>> createObject(json::value object);
  Task<Outcome<Written>> update();
  Task<Outcome<Written>> patch();
  Task<Outcome<Written>> apply();
  Task<Outcome<Written>> remove();
  Task<Outcome<Written>> removeOne(EntryPtr entry, json::value options);
  // Deletes an object whose deletion was admitted.
  Outcome<Written> deleteNow(const EntryPtr& entry, const json::value& old,
                             const json::value& options);
  Outcome<> checkPreconditions(const Entry& entry, const json::value& object,
                               const json::value& options) const;
  Task<Outcome<Written>> removeAll();
  // Reads the body of a subresource that has a kind of its own, and checks types by its schema.
  Outcome<json::value> readSubresourceKind(std::string_view kind) const;
  Outcome<> checkSubresourceKind(const json::value& body, std::string_view kind) const;
  // After admission has changed such a body.
  Outcome<> completeSubresourceKind(const json::value& body, std::string_view kind) const;
  // Returns such a body after admission, or the reason why it was denied.
  Task<Outcome<json::value>> admitSubresourceKind(AdmissionAttributes attributes, json::value body);
  // For a scale, webhooks receive the Scale.
  void showScale(AdmissionAttributes& attributes, const json::value& object,
                 const json::value& old) const;
  Task<Outcome<json::value>> mutateScale(AdmissionAttributes attributes, json::value object,
                                         json::value old);
  Task<Outcome<Written>> bind();
  Task<Outcome<Written>> evict();
  Task<Outcome<Written>> scale();
  // Returns the object after a Scale was applied to it.
  Outcome<json::value> applyScale(ManagedFields& managed, const json::value& old,
                                  const json::value& config, bool force) const;
  // Applies the change to the newest version. Repeats it if another write came between, unless the
  // client named a version.
  Task<Outcome<Written>> modify(Change change);

  // Returns the object without managedFields.
  Outcome<json::value> readOld(const Entry& entry) const;
  ManagedWrite managedWrite() const;
  ManagedFields knownManagers() const;  // of managed_
  // Records in managed_ the fields that this request owns, unless apply() has done so; `given` is
  // the client's managedFields. Sets newOwners_.
  void track(const json::value* old, const json::value& next, const json::value& given);
  // Takes over the managedFields that a webhook returned.
  void takeManagers(const json::value& given);
  json::value webhookForm(json::value object, const std::string& managed) const;
  // The object of admission's attributes, which webhookForm() made of this one, as it was.
  static json::value ownForm(json::value object);
  AdmissionAttributes attributes(std::string operation, const json::value* object,
                                 const json::value* old) const;
  AdmissionNotes notes() { return {warnings_, annotations_}; }
  // Checks and completes an object in the form of the request.
  Outcome<> completeMutated(json::value& object, bool strict);
  // Passes the object through mutating admission, then completes it.
  Task<Outcome<json::value>> mutate(json::value object, const json::value* old);
  // The object is lost if it is not valid.
  Task<Outcome<>> validate(json::value& object, const json::value* old);
  // `old` is null for a new object.
  Outcome<> admitBuiltin(json::value& object, const json::value* old);
  // Reserves the addresses and ports of a service.
  Outcome<ServiceAddresses::Hold> allocateAddresses(json::value& object, const json::value* old);
  // Rejects writes that a kubelet may not make.
  Outcome<> admitNode(std::string_view operation, const json::value* object,
                      const json::value* old) const;
  // Prevents privilege escalation.
  Outcome<> admitGrantOf(const json::value& object, const json::value* old);
  // Checks that a user whose update creates the object may create it.
  Outcome<> admitCreation();
  Task<Outcome<Written>> issueToken();
  Outcome<> followUp(const json::value* object, std::string_view name);
  // A stored object may stay as large as it is.
  Outcome<> checkSize(const json::value& object, std::size_t before) const;
  // Call before each change.
  void stored();
  EntryPtr put(const json::value& object);
  void erase(const EntryPtr& entry);
  Outcome<> checkKindRules(const json::value& object, const json::value* old);
  Outcome<> checkDefinition() const;
  Written answer(const Entry& entry, int status) const;
  Written answer(const json::value& object, int status) const;
  // Takes one disruption from the pod's disruption budget, if it has a budget and needs a
  // disruption.
  Outcome<> spendDisruption(const json::value& pod);

  Server& server_;
  const Call& call_;
  Target target_;
  bool dryRun_ = false;
  std::string managed_;                   // managedFields of the new object, as text
  std::string oldManaged_;                // managedFields of the old object
  bool newOwners_ = false;                // they differ in more than times
  std::optional<ManagedFields> applied_;  // by apply()
  std::vector<std::string> warnings_;
  std::map<std::string, std::string> annotations_;
  std::string newName_;
  bool mutated_ = false;  // admission changed the object
  // The last change, see Store::isReverted; version 0: none yet.
  std::size_t storedEpoch_ = 0;
  std::uint64_t storedVersion_ = 0;
  bool earlierReverted_ = false;
};

}  // namespace koord::apiserver
