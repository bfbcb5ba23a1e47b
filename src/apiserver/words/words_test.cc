#include "apiserver/words/words.h"

#include <gmock/gmock.h>

#include "api/schema/builtin.h"

namespace koord::apiserver {
namespace {

using testing::IsEmpty;

// The types that a field of this type holds, also in lists and maps.
const api::Schema* structIn(const api::Schema* type) {
  while (type && (type->type == api::Schema::Type::List || type->type == api::Schema::Type::Map))
    type = type->items;
  return type && type->type == api::Schema::Type::Object ? type : nullptr;
}

TEST(WordsTest, eachFieldOfTheCommonKindsIsExplained) {
  const auto set = api::builtinTypes();
  std::vector<std::string> missing;
  for (const char* kind : {"Pod",
                           "Node",
                           "Deployment",
                           "ReplicaSet",
                           "StatefulSet",
                           "DaemonSet",
                           "Job",
                           "CronJob",
                           "Service",
                           "ConfigMap",
                           "Secret",
                           "Namespace",
                           "Event",
                           "PersistentVolumeClaim",
                           "PriorityClass",
                           "PodDisruptionBudget",
                           "ServiceAccount",
                           "LimitRange",
                           "ResourceQuota",
                           "StorageClass",
                           "Role",
                           "RoleBinding",
                           "Lease"}) {
    const auto* type = set.find(kind);
    ASSERT_NE(type, nullptr) << kind;
    if (wordsOf(kind).empty()) missing.emplace_back(kind);
    std::vector<const api::Schema*> parts{type};
    for (const auto& field : type->fields)
      if (const auto* part = structIn(field.type)) parts.push_back(part);
    for (const auto* part : parts)
      for (const auto& field : part->fields)
        if (wordsOf(part->name, field.name).empty())
          missing.push_back(part->name + "." + field.name);
  }
  EXPECT_THAT(missing, IsEmpty());
}

TEST(WordsTest, eachNameIsThatOfATypeOrField) {
  const auto set = api::builtinTypes();
  std::vector<std::string> unknown;
  for (const auto& name : namesWithWords()) {
    const auto dot = name.find('.');
    const auto type = name.substr(0, dot);
    if (type == "*") continue;
    const auto* schema = set.find(type);
    if (!schema || (dot != std::string::npos && !schema->field(name.substr(dot + 1))))
      unknown.push_back(name);
  }
  EXPECT_THAT(unknown, IsEmpty());
}

TEST(WordsTest, aFieldHasItsOwnWordsOrThoseOfAllTypes) {
  EXPECT_EQ(wordsOf("Pod", "kind"), wordsOf("Job", "kind"));
  EXPECT_NE(wordsOf("Container", "name"), wordsOf("Volume", "name"));
  EXPECT_EQ(wordsOf("Pod", "nothing"), "");
  EXPECT_EQ(wordsOf("Nothing"), "");
  EXPECT_TRUE(wordsOf("PodSpec", "initContainers").ends_with("it keeps running beside them."));
}

}  // namespace
}  // namespace koord::apiserver
