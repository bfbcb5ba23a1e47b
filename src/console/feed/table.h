#pragma once

// All objects of a kind that the credentials may list, as rows that follow the API server.
//
// First asks for one object of the whole cluster. If that is forbidden, asks within one namespace;
// if that is forbidden, too, asks again each minute. So a user with few rights sees what they may
// list, and access() says what is missing: also that the watch is refused, so that rows which are
// there are old.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "base/executor.h"
#include "base/task.h"
#include "console/feed/change_log.h"
#include "console/feed/refusals.h"
#include "kube/reflector.h"

namespace koord::console {

struct Access {
  enum class State { Loading, All, Namespace, Forbidden, Absent, Failed };
  State state = State::Loading;
  std::string message;     // of the API server, if it refused
  std::string namespace_;  // for State::Namespace
};
json::value accessJson(const Access& access);

class Table final : private kube::ReflectorSink {
 public:
  // nullopt: there is nothing to show of the object.
  using Read = std::function<Result<std::optional<Row>>(const kube::Received& object)>;

  // `onChange` is called after every change of rows or access.
  Table(std::string name, const api::ResourceType& type, Read read, kube::Api& api,
        Executor& executor, std::function<void()> onChange);
  ~Table() override;

  // `ownNamespace`: where to look if the whole cluster is forbidden; "" = nowhere.
  void start(std::string ownNamespace);

  const std::string& name() const { return name_; }
  const ChangeLog& rows() const { return rows_; }
  const Access& access() const { return access_; }
  // True if there is nothing to wait for: the rows are complete, or cannot be read.
  bool settled() const { return synced_ || unreadable(); }
  // True if there are rows and the API server refuses their changes.
  bool stale() const { return rows_.size() > 0 && unreadable(); }

 private:
  void beginReplace() override;
  void upsert(const kube::Received& object) override;
  void remove(const kube::Received& object) override;
  void endReplace() override;
  bool readsProtobuf() const override { return protobuf_; }

  Task<void> open(std::string ownNamespace);
  void follow(Access access);
  Task<Result<std::string>> tryToList(std::string namespace_);
  void set(Access access);
  void onRefusal(const Error* refusal);
  bool unreadable() const { return access_.state > Access::State::Namespace; }

  const std::string name_;
  const api::ResourceType& type_;
  const Read read_;
  const bool protobuf_;
  kube::Api& api_;
  RefusalsApi watched_;  // what the reflector asks
  Executor& executor_;
  const std::function<void()> onChange_;
  ChangeLog rows_;
  Access access_;
  Access granted_;  // what access_ is while the watch is not refused
  bool synced_ = false;
  std::unordered_set<std::string> unseen_;  // during a replace
  std::unique_ptr<kube::Reflector> reflector_;
  TaskGroup tasks_;
};

}  // namespace koord::console
