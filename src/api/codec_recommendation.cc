#include "api/codec_impl.h"
#include "api/describe_meta.h"
#include "api/recommendation.h"

namespace koord::api {

BOOST_DESCRIBE_STRUCT(RecommendedWorkload, (), (apiVersion, kind, name))
BOOST_DESCRIBE_STRUCT(RecommendationTarget, (), (type, workload, podSelector))
BOOST_DESCRIBE_STRUCT(RecommendationSpec, (), (target))
BOOST_DESCRIBE_STRUCT(RecommendedContainer, (),
                      (containerName, resources, lowerBound, upperBound, confidence))
BOOST_DESCRIBE_STRUCT(RecommendedPod, (), (containerStatuses))
BOOST_DESCRIBE_STRUCT(RecommendationStatus, (), (podStatus, updateTime, conditions))
BOOST_DESCRIBE_STRUCT(Recommendation, (), (metadata, spec, status))

}  // namespace koord::api

KOORD_OBJECT_CODEC(koord::api::Recommendation)
KOORD_CODEC(koord::api::RecommendationSpec)
KOORD_CODEC(koord::api::RecommendationStatus)
