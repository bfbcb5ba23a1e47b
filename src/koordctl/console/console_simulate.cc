#include "koordctl/console/console_simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/aside.h"
#include "base/unless.h"
#include "console/questions/simulation_request.h"
#include "koordctl/simulate/cluster_simulation.h"

namespace koord::koordctl {

namespace {

// The notes stand before those of koord-scheduler.
json::value withNotes(json::value result, const std::vector<std::string>& notes) {
  json::value* status = find(result, "status");
  if (notes.empty() || !status || !status->is_object()) return result;
  json::array all;
  for (const std::string& note : notes) all.push_back(json::string(note));
  json::value& own = status->get_object()["notes"];
  if (own.is_array()) std::ranges::move(own.get_array(), std::back_inserter(all));
  own = std::move(all);
  return result;
}

Task<Result<json::value>> simulate(cluster::Question question, std::string request) {
  ClusterSimulation cluster(chooseKubeconfig(question.kubeconfig), question.scheduler,
                            question.dataDir, *question.executor);
  if (auto opened = cluster.open(); !opened) co_return fail(std::move(opened.error()));
  auto reading = aside(*question.executor, [&request, &cluster] {
    return console::simulationSpec(request, cluster.defaultNamespace());
  });
  auto spec = co_await reading;
  if (!spec) co_return fail(std::move(spec.error()));
  auto asking = cluster.ask(*std::move(spec));
  auto answer = co_await asking;
  if (!answer) co_return fail(std::move(answer.error()));
  co_return withNotes(std::move(answer->result), answer->notes);
}

}  // namespace

Task<Result<json::value>> simulateForConsole(cluster::Question question, std::string request) {
  Executor& executor = *question.executor;
  Error late{ErrorCode::Timeout,
             fmt::format("there is no answer after {} s: ask about less",
                         kSimulationLimit / std::chrono::seconds(1)),
             {}};
  auto asking = withTimeLimit(executor, kSimulationLimit, std::move(late),
                              simulate(std::move(question), std::move(request)));
  auto answer = co_await asking;
  co_return answer;
}

}  // namespace koord::koordctl
