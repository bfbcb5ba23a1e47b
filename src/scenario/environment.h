#pragma once

// The environment of a test: an API and a way to let time pass. Created for each test (see
// TestCommand in command.h) or for each worker, and used by one thread at a time.

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
  // Runs the executor until done() is true, at most for `limit` of its time; returns the last
  // result of done(). On virtual time this is VirtualLoop::advanceUntil.
  virtual bool advanceUntil(const std::function<bool()>& done, Duration limit) = 0;
  // A kubeconfig file for scripts and commands; "" if they cannot run, as on virtual time.
  virtual std::string kubeconfig() const { return {}; }
  // Requests so far of this environment's programs that their shipped roles do not allow.
  virtual std::vector<std::string> refusals() const { return {}; }
  // A discovery document by its path ("/apis/apps/v1"). Without one, tests can name only the
  // built-in kinds and the CustomResourceDefinitions.
  virtual Task<Result<std::string>> discover(std::string path);
};

}  // namespace koord::scenario
