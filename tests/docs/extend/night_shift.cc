#include "night_shift.h"

#include "base/time.h"

namespace koord::descheduler {

NightShiftArgs NightShiftArgs::read(Fields& fields) {
  NightShiftArgs args{.label = fields.text("label", "example.com/test-environment"),
                      .longest = fields.duration("longest", std::chrono::hours(12))};
  if (args.longest <= Duration::zero()) fields.error("longest", "must be above 0");
  return args;
}

PluginKind NightShift::kind() {
  PluginKind kind;
  kind.deschedule = true;
  kind.prepare = [](Fields& fields) {
    const NightShiftArgs args = NightShiftArgs::read(fields);
    return PreparedPlugin{
        .effective = {{"label", args.label}, {"longest", formatDuration(args.longest)}},
        .make = [args](Handle& handle) { return std::make_shared<NightShift>(handle, args); }};
  };
  return kind;
}

bool NightShift::isOver(const Pod& pod) const {
  const auto& created = pod.metadata.creationTimestamp;
  return pod.metadata.labels.contains(args_.label) && created &&
         handle_.executor().wallNow() - *created > args_.longest;
}

Task<Result<>> NightShift::deschedule(const Nodes& nodes) {
  for (const NodeView& node : nodes) {
    for (const auto& entry : node.pods->entries) {
      const PodPtr pod = entry.pod;
      if (!isOver(*pod) || !handle_.evictor().filter(*pod)) continue;
      EvictOptions options;
      options.reason = "the test environment is older than " + formatDuration(args_.longest);
      auto evicting = handle_.evictor().evict(pod, std::move(options));
      co_await evicting;
      if (handle_.evictor().nodeExhausted(node.name())) break;
    }
  }
  co_return Result<>();
}

}  // namespace koord::descheduler
