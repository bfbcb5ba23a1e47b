#include "api/codec_impl.h"
#include "api/describe_meta.h"
#include "api/elasticquota.h"

namespace koord::api {

BOOST_DESCRIBE_STRUCT(ElasticQuotaSpec, (), (min, max))
BOOST_DESCRIBE_STRUCT(ElasticQuotaStatus, (), (used))
BOOST_DESCRIBE_STRUCT(ElasticQuota, (), (metadata, spec, status))
BOOST_DESCRIBE_STRUCT(ElasticQuotaProfileSpec, (),
                      (quotaName, quotaLabels, resourceRatio, nodeSelector))
BOOST_DESCRIBE_STRUCT(ElasticQuotaProfile, (), (metadata, spec))

}  // namespace koord::api

KOORD_OBJECT_CODEC(koord::api::ElasticQuota)
KOORD_OBJECT_CODEC(koord::api::ElasticQuotaProfile)
