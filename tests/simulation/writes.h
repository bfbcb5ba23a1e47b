#pragma once

// Writes: what people and controllers of the simulation write to the store, straight to the server.

#include <string>

#include "kube/client.h"
#include "simulation/journal.h"

namespace koord::simulation {

class Writes {
 public:
  Writes(kube::Api& api, Journal& journal) : api_(api), journal_(journal) {}

 protected:
  // Writes that may fail because things have moved on.
  template <class T>
  void write(Task<Result<T>> task) {
    tasks_.spawn(ended(std::move(task)));
  }
  // Objects that the server has to accept.
  void create(const api::ResourceType& type, const std::string& namespace_, json::value object);
  // Of this incarnation of the object.
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
