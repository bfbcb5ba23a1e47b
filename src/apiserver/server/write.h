#pragma once

// Carrying out one write: create, update, patch, delete and the subresources that change objects. A
// WriteCall lives for one request.

#include "apiserver/managed/managed_fields.h"
#include "apiserver/server/crd_cleanup.h"
#include "apiserver/server/server.h"

namespace koord::apiserver {

struct Written {
  Bytes text;
  int status = 200;
};

// What DeleteOptions may say, also as a part of an Eviction.
Outcome<> checkDeleteOptions(const json::value& options);
bool wantsDryRun(const json::value& deleteOptions);

class WriteCall {
 public:
  WriteCall(Server& server, const Call& call) : server_(server), call_(call) {}

  Task<Outcome<Written>> run();
  std::vector<std::string>& warnings() { return warnings_; }
  // What the object is called that is being made; "" when the request names it.
  const std::string& newName() const { return newName_; }
  // Whether something that this call stored is gone again, since the storage failed.
  bool takenBack() const;

 private:
  // The object that a write leads from `old` to.
  using Change = std::function<Outcome<json::value>(const json::value& old, WriteCall& call)>;

  Task<Outcome<Written>> create();
  Task<Outcome<Written>> createObject(json::value object);
  Task<Outcome<Written>> update();
  Task<Outcome<Written>> patch();
  Task<Outcome<Written>> apply();
  Task<Outcome<Written>> remove();
  Task<Outcome<Written>> removeOne(EntryPtr entry, json::value options);
  // The deletion itself, of an object that was admitted to it.
  Outcome<Written> deleteNow(const EntryPtr& entry, const json::value& old,
                             const json::value& options);
  Outcome<> checkPreconditions(const Entry& entry, const json::value& object,
                               const json::value& options) const;
  Task<Outcome<Written>> removeAll();
  // The body of a subresource that has a kind of its own, with the types that its schema says.
  Outcome<json::value> readOwnKind(std::string_view kind) const;
  Outcome<> checkOwnKind(const json::value& body, std::string_view kind) const;
  // What the webhooks make of such a body, or why they refuse it.
  Task<Outcome<json::value>> admitOwnKind(AdmissionAttributes attributes, json::value body);
  // Of a scale webhooks see the Scale.
  void showScale(AdmissionAttributes& attributes, const json::value& object,
                 const json::value& old) const;
  Task<Outcome<json::value>> mutateScale(AdmissionAttributes attributes, json::value object,
                                         json::value old);
  Task<Outcome<Written>> bind();
  Task<Outcome<Written>> evict();
  Task<Outcome<Written>> scale();
  // The object after a Scale was applied to it.
  Outcome<json::value> applyScale(ManagedFields& managed, const json::value& old,
                                  const json::value& config, bool force) const;
  // Applies the change to the newest version; again when another write came between, unless the
  // client asked for one version.
  Task<Outcome<Written>> modify(Change change);

  // Without managedFields.
  Outcome<json::value> readOld(const Entry& entry) const;
  ManagedWrite managedWrite() const;
  ManagedFields knownManagers() const;  // of managed_
  // Writes down in managed_ what this request owns now, unless apply() has done so; `given` is what
  // the client sent as managedFields. Sets newOwners_.
  void track(const json::value* old, const json::value& next, const json::value& given);
  // The managedFields that a webhook gave back.
  void takeManagers(const json::value& given);
  json::value webhookForm(const json::value& object, const std::string& managed) const;
  AdmissionAttributes attributes(std::string operation, const json::value* object,
                                 const json::value* old) const;
  // Mutating webhooks, then what the server itself completes.
  Task<Outcome<json::value>> mutate(json::value object, const json::value* old);
  Task<Outcome<>> validate(const json::value& object, const json::value* old);
  Outcome<> admitBuiltin(json::value& object, bool creating);
  // Of a service: its addresses and ports, which are taken from here on.
  Outcome<ServiceAddresses::Hold> giveAddresses(json::value& object, const json::value* old);
  // What a kubelet may not write.
  Outcome<> admitNode(std::string_view operation, const json::value* object,
                      const json::value* old) const;
  // Nobody grants what he does not have, nor makes by an update what he may not create.
  Outcome<> admitGrantOf(const json::value& object, const json::value* old);
  Outcome<> admitCreation();
  Task<Outcome<Written>> issueToken();
  Outcome<> followUp(const json::value* object, std::string_view name);
  // What was stored before may stay as large as it is.
  Outcome<> checkSize(const json::value& object, std::size_t before) const;
  // To be called before each change.
  void stored();
  EntryPtr put(const json::value& object);
  void erase(const EntryPtr& entry);
  Outcome<> checkKindRules(const json::value& object, const json::value* old);
  Outcome<> checkDefinition() const;
  Written answer(const Entry& entry, int status) const;
  Written answer(const json::value& object, int status) const;
  // Takes one disruption from the budget of the pod, if it has one and needs it.
  Outcome<> spendDisruption(const json::value& pod);

  Server& server_;
  const Call& call_;
  Target target_;
  bool dryRun_ = false;
  std::string managed_;                   // the managedFields of what is written, as text
  std::string oldManaged_;                // of what it replaces
  bool newOwners_ = false;                // between the two there is more news than a time
  std::optional<ManagedFields> applied_;  // by apply()
  std::vector<std::string> warnings_;
  std::string newName_;
  // The last change, see Store::isTakenBack; version 0: none yet.
  std::size_t storedEpoch_ = 0;
  std::uint64_t storedVersion_ = 0;
  bool earlierTakenBack_ = false;
};

}  // namespace koord::apiserver
