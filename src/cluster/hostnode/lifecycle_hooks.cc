#include "cluster/hostnode/lifecycle_hooks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/utf8.h"
#include "cluster/hostnode/host_node_parts.h"

namespace koord::cluster {

namespace {
constexpr std::size_t kMaxEventOutput = 512;  // of a command's output, in an event
}

Task<Result<>> runHook(HookTools tools, ProbeTarget target, spec::LifecycleHandler hook,
                       Duration limit) {
  if (hook.exec) {
    std::vector<std::string> command(hook.exec->command.begin(), hook.exec->command.end());
    auto running = tools.runtime.exec(target.containerId, command, limit);
    auto end = co_await running;
    if (!end) co_return fail(std::move(end.error()));
    if (end->exitCode != 0)
      co_return fail(ErrorCode::Internal,
                     fmt::format("command '{}' exited with {}: {}", fmt::join(command, " "),
                                 end->exitCode, shortened(end->output, kMaxEventOutput)));
    co_return Result<>{};
  }
  if (hook.sleep) {
    const Duration pause = std::min(graceTime(hook.sleep->seconds), limit);
    auto sleeping = sleepFor(tools.executor, pause);
    co_await sleeping;
    co_return Result<>{};
  }
  if (hook.httpGet && tools.http) {
    auto asking = getForProbe(tools.executor, *tools.http, std::move(target), *hook.httpGet, limit);
    auto answer = co_await asking;
    if (!answer) co_return fail(std::move(answer.error()));
    co_return Result<>{};
  }
  co_return fail(ErrorCode::Invalid, "invalid handler: want exec, httpGet or sleep");
}

}  // namespace koord::cluster
