#pragma once

// The files of configMap, secret, downwardAPI and projected volumes, from the objects they stand
// for.

#include <functional>
#include <vector>

#include "cluster/hostnode/podspec/environment.h"
#include "cluster/hostnode/volumes/atomic_files.h"

namespace koord::cluster {

// What a volume needs to be known first.
ReferencedNames volumeReferences(const spec::Volume& volume);
std::vector<spec::TokenSource> tokensOf(const spec::Volume& volume);

struct PayloadContext {
  FieldContext fields;
  const ReferencedObjects& objects;
  // The token of such a source; nullopt: this cluster has none, and the file is left out.
  std::function<std::optional<std::string>(const spec::TokenSource&)> token;
};

// Fails, in the kubelet's words, for what is missing and not optional.
Result<Payload> payloadOf(const PayloadContext& context, const spec::Volume& volume);

// The group that a pod's volumes belong to, and the user of all its containers, where they have
// one.
std::optional<std::uint32_t> fsGroupOf(const HostPod& pod);
std::optional<std::uint32_t> fsUserOf(const HostPod& pod);

}  // namespace koord::cluster
