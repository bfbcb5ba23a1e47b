#pragma once

// The world that a test runs in: an API and a way to let time pass. One is made for each test (see
// TestCommand in command.h) or for each worker, and is used by one thread at a time.

#include <functional>
#include <string>
#include <vector>

#include "base/task.h"
#include "kube/api.h"

namespace koord::scenario {

class Environment {
 public:
  virtual ~Environment() = default;

  virtual kube::Api& api() = 0;
  // The executor that the Api belongs to; the test runs on it.
  virtual Executor& executor() = 0;
  // Runs the executor until done() holds, at most for `limit` of its time; returns whether it
  // holds. On virtual time this is VirtualLoop::advanceUntil.
  virtual bool advanceUntil(const std::function<bool()>& done, Duration limit) = 0;
  // A kubeconfig file for scripts and commands; "" where they cannot run, as on virtual time.
  virtual std::string kubeconfig() const { return {}; }
  // What programs of this world asked for that the roles they are shipped with do not allow, by now.
  virtual std::vector<std::string> refusals() const { return {}; }
  // A discovery document by its path ("/apis/apps/v1"). Where there is none, the built-in kinds and
  // the CustomResourceDefinitions are what a test can name.
  virtual Task<Result<std::string>> discover(std::string path);
};

}  // namespace koord::scenario
