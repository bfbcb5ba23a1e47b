#include "api/codec_impl.h"
#include "api/describe_meta.h"
#include "scheduler/plugins/nodenumaresource/documents.h"

namespace koord::scheduler {

BOOST_DESCRIBE_STRUCT(ResourceSpecDocument, (),
                      (requiredCPUBindPolicy, preferredCPUBindPolicy, preferredCPUExclusivePolicy))
BOOST_DESCRIBE_STRUCT(NumaSpecDocument, (), (numaTopologyPolicy, singleNUMANodeExclusive))
BOOST_DESCRIBE_STRUCT(NumaNodeResourceDocument, (), (node, resources))
BOOST_DESCRIBE_STRUCT(ResourceStatusDocument, (), (cpuset, numaNodeResources))
BOOST_DESCRIBE_STRUCT(PodCpusDocument, (), (namespace_, name, uid, cpuset, managedByKubelet))
BOOST_DESCRIBE_STRUCT(PodCpusListDocument, (), (pods))
BOOST_DESCRIBE_STRUCT(KubeletCpusDocument, (), (policy, options, reservedCPUs))
BOOST_DESCRIBE_STRUCT(SystemCpusDocument, (), (cpuset, cpusetExclusive))

}  // namespace koord::scheduler

KOORD_CODEC(koord::scheduler::ResourceSpecDocument)
KOORD_CODEC(koord::scheduler::NumaSpecDocument)
KOORD_CODEC(koord::scheduler::ResourceStatusDocument)
KOORD_CODEC(koord::scheduler::PodCpusListDocument)
KOORD_CODEC(koord::scheduler::KubeletCpusDocument)
KOORD_CODEC(koord::scheduler::SystemCpusDocument)
