#include "api/codec_impl.h"
#include "manager/webhook/enhanced_validation.h"

namespace koord::manager {

BOOST_DESCRIBE_STRUCT(PodRule, (), (name, requiredLabels, namespaceWhitelist))
BOOST_DESCRIBE_STRUCT(PodRules, (), (rules))

}  // namespace koord::manager

KOORD_CODEC(koord::manager::PodRules)
