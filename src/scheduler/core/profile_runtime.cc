#include "scheduler/core/profile_runtime.h"

namespace koord::scheduler {

Shared::Shared(Executor& executorToUse, kube::Api* apiToUse)
    : executor(executorToUse), api(apiToUse), podUnits(apiToUse, executorToUse) {
  // Kept results for a node depend on its nominated pods.
  nominator.onChange = [this](const std::string& node) {
    const auto id = cluster.findNode(node);
    if (!id) return;
    cluster.touch(*id);
    // The end of a simulation drops log entries that were not read; the nomination stays.
    (void)cluster.changesSince(cluster.changeEnd());
  };
}

ProfileRuntime::ProfileRuntime(Shared& shared, const ProfileConfig& config,
                               const Registry& registry, std::int32_t percentage, Random random,
                               std::vector<std::string>& errors)
    : shared_(shared), random_(random.fork()) {
  if (shared_.api) {
    events_ = std::make_unique<kube::EventRecorder>(*shared_.api, shared_.executor,
                                                    config.schedulerName, random.fork());
  }
  profile_ = buildProfile(config, registry, *this, errors);
  search_ =
      std::make_unique<NodeSearch>(shared_.cluster, shared_.nominator, *profile_, random.fork(),
                                   profile_->percentageOfNodesToScore.value_or(percentage));
}

ProfileRuntime::~ProfileRuntime() = default;

}  // namespace koord::scheduler
