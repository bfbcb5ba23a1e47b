#pragma once

// How the screen asks koord-scheduler and koord-manager about an object. Commands of koordctl know
// how; the screen, which lies below them, gets this function.

#include <string>

#include "base/executor.h"
#include "base/json.h"
#include "base/result.h"
#include "base/task.h"
#include "cluster/screen/row.h"

namespace koord::cluster {

struct Question {
  Executor* executor = nullptr;
  std::string kubeconfig;  // as for --kubeconfig
  std::string dataDir;     // of the 'koordctl up' with the components; "" = unknown
  std::string scheduler;   // addresses of components, where they are not known from there
  std::string manager;
  Subject subject;
};
// The text of `koordctl explain` about the subject, "" for kinds without one.
using Explain = Task<Result<std::string>> (*)(Question question);
// The same for the console (console/console.h), which names its subjects itself.
using ExplainByName = Task<Result<std::string>> (*)(Question question, std::string kind,
                                                    std::string name);
// What would happen, for the console: the body of its request and of its answer.
using Simulate = Task<Result<json::value>> (*)(Question question, std::string request);

}  // namespace koord::cluster
