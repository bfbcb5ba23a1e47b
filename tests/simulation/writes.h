#pragma once

// Writes: what the users and controllers of the simulation write to the store, straight to the
// server.

#include <string>

#include "kube/client.h"
#include "simulation/journal.h"

namespace koord::simulation {

class Writes {
 public:
  Writes(kube::Api& api, Journal& journal) : api_(api), journal_(journal) {}

 protected:
  // Writes that may fail because the object has changed.
  template <class T>
  void write(Task<Result<T>> task) {
    tasks_.spawn(ended(std::move(task)));
  }
  // Creates objects that the server must accept.
  void create(const api::ResourceType& type, const std::string& namespace_, json::value object);
  // Only if the object still has this uid.
  void patch(const api::ResourceType& type, const api::ObjectMeta& meta, json::value patch,
             std::string subresource = "");
  void remove(const api::ResourceType& type, const api::ObjectMeta& meta,
              std::optional<std::int64_t> gracePeriodSeconds = {});

  kube::Api& api_;
  Journal& journal_;

 private:
  template <class T>
  static Task<void> ended(Task<Result<T>> task) {
    const auto result = co_await task;
    (void)result;
  }
  Task<void> mustSucceed(Task<Result<json::value>> task, std::string what);

  TaskGroup tasks_;
};

}  // namespace koord::simulation
