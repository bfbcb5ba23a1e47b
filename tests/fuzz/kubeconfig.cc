// Kubeconfig files as text; whatever can be read merges with itself.

#include "fuzz.h"
#include "kube/kubeconfig_file.h"

namespace koord::fuzz {

void kubeconfig(std::string_view input) {
  auto config = kube::parseKubeconfig(std::string(input), "/folder/config");
  if (!config) {
    check(config.error().message.starts_with("kubeconfig /folder/config"), "errors name the file");
    return;
  }
  const auto clusters = config->clusters.size();
  config->mergeFrom(kube::Kubeconfig(*config));
  check(config->clusters.size() == clusters, "a file that is merged with itself stays the same");
}

}  // namespace koord::fuzz
