#include "manager/webhook/admission.h"

#include "api/codec.h"
#include "base/brief_json.h"
#include "net/tls.h"

namespace koord::manager {

Result<api::AdmissionReview> readReview(std::string_view body) {
  const BriefJson document(body);
  if (!document) return fail(Error(document.error()).within("AdmissionReview"));
  auto review = api::decode<api::AdmissionReview>(*document);
  if (!review) return fail(std::move(review.error()).within("AdmissionReview"));
  if (!review->request) return fail(ErrorCode::BadRequest, "AdmissionReview: request: is missing");
  return review;
}

std::string writeReview(std::string_view apiVersion, std::string_view uid, const Verdict& verdict) {
  json::object response{{"uid", json::string_view(uid.data(), uid.size())},
                        {"allowed", verdict.allowed}};
  if (!verdict.allowed)
    response["status"] = {
        {"code", verdict.code}, {"message", verdict.message}, {"status", "Failure"}};
  if (verdict.allowed && !verdict.patch.empty()) {
    response["patchType"] = "JSONPatch";
    response["patch"] = net::base64Encode(toJson(verdict.patch));
  }
  if (apiVersion.empty()) apiVersion = "admission.k8s.io/v1";
  return toJson(
      json::object{{"apiVersion", json::string_view(apiVersion.data(), apiVersion.size())},
                   {"kind", "AdmissionReview"},
                   {"response", std::move(response)}});
}

}  // namespace koord::manager
