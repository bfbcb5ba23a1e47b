#pragma once

// Instance: a scheduler with its informers and endpoints: all whose work is a function of what its
// executor, its API and its extenders give it. A recording has the inputs of one instance
// (recording/README.md). Leader election and servers stay outside.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/app/sync_barrier.h"
#include "scheduler/auditor/auditor.h"
#include "scheduler/core/informers.h"
#include "scheduler/core/scheduler.h"
#include "scheduler/forecast/run_history.h"
#include "scheduler/framework/registry.h"
#include "scheduler/recording/items.h"
#include "scheduler/services/explanation_writer.h"
#include "scheduler/services/http_service.h"
#include "scheduler/shadow/shadow.h"

namespace koord::scheduler {

// What a recording keeps of the program's settings (recording_header.h).
struct InstanceSettings {
  SchedulerOptions scheduler;
  std::uint64_t seed = 1;  // of informers
  SyncBarrierOptions barrier;
  Scheduler::Debug debug;
  ShadowOptions shadow;  // of another scheduler; not in recordings
};

// The surroundings of an instance; they must outlive it.
struct InstanceSurroundings {
  Executor& executor;
  kube::Api& api;
  net::HttpTransport* http;  // for extenders; nullptr if there are none
  Executor& serving;         // of the HTTP endpoints' own timers
  Metrics& metrics;
  std::unique_ptr<Auditor> auditor;         // nullptr: none
  ServiceState service;                     // the instance sets what it knows itself
  forecast::RunHistory* history = nullptr;  // learns from the pods; nullptr: none
};

class Instance {
 public:
  static Result<std::unique_ptr<Instance>> create(InstanceSettings settings,
                                                  const Registry& registry,
                                                  InstanceSurroundings surroundings);
  ~Instance();

  void start();  // the informers
  // This process leads: schedules when everything is synced. Not for a shadow.
  void lead();
  void stop();
  void handle(net::ServerRequest request, std::shared_ptr<net::Responder> to);

  bool leading() const { return leading_; }
  bool synced() const { return informers_.synced(); }
  Scheduler& scheduler() { return *scheduler_; }
  const Scheduler& scheduler() const { return *scheduler_; }
  const Shadow* shadow() const { return shadow_.get(); }  // nullptr: not a shadow
  const Informers& informers() const { return informers_; }

 private:
  Instance(std::unique_ptr<Scheduler> scheduler, std::unique_ptr<ReadOnlyApi> readOnly,
           InstanceSettings settings, InstanceSurroundings surroundings);
  ServiceState serviceState(ServiceState state);
  Task<void> passBarrier();
  void schedule();

  const std::unique_ptr<Auditor> auditor_;
  const std::unique_ptr<ReadOnlyApi> readOnly_;  // of a shadow
  const std::unique_ptr<Scheduler> scheduler_;
  const std::unique_ptr<Shadow> shadow_;
  kube::Api& api_;
  Informers informers_;
  const bool waits_;  // for the last leader's writes
  SyncBarrier barrier_;
  bool leading_ = false;
  bool stopping_ = false;
  ExplanationWriter explanations_;
  HttpService service_;
  const net::HttpServer::Handler handler_;
  TaskGroup tasks_;
};

// The part of a decision that a recording keeps.
recording::DecisionText textOf(const std::string& pod, const Decision& decision);

}  // namespace koord::scheduler
