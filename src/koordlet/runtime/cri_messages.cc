#include <algorithm>

#include "koordlet/runtime/container_runtime.h"
#include "runtime_cri.pb.h"

namespace koord::koordlet {
namespace {

RuntimeContainer containerOf(const cri::Container& from) {
  RuntimeContainer container;
  container.id = from.id();
  container.name = from.metadata().name();
  container.running = from.state() == cri::CONTAINER_RUNNING;
  for (const auto& [key, value] : from.labels()) {
    if (key == "io.kubernetes.pod.uid") container.podUid = value;
    if (key == "io.kubernetes.container.name") container.name = value;
  }
  return container;
}

}  // namespace

std::string stopContainerRequest(std::string_view id, std::int64_t graceSeconds) {
  cri::StopContainerRequest request;
  request.set_container_id(std::string(id));
  request.set_timeout(std::max<std::int64_t>(graceSeconds, 0));
  return request.SerializeAsString();
}

Result<std::vector<RuntimeContainer>> containersInReply(std::string_view message) {
  cri::ListContainersResponse reply;
  if (!reply.ParseFromArray(message.data(), static_cast<int>(message.size())))
    return fail(ErrorCode::Invalid, "the runtime's list of containers is not a message of CRI's");
  std::vector<RuntimeContainer> containers;
  for (const auto& container : reply.containers())
    if (container.state() == cri::CONTAINER_CREATED || container.state() == cri::CONTAINER_RUNNING)
      containers.push_back(containerOf(container));
  return containers;
}

}  // namespace koord::koordlet
