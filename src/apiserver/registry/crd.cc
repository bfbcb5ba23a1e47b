#include "apiserver/registry/crd.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api/names.h"
#include "api/schema/builtin.h"
#include "apiserver/rules/custom_rules.h"
#include "base/ascii.h"

namespace koord::apiserver {
namespace {

// Every object of a table has a cell for each column.
constexpr std::size_t kMaxPrinterColumns = 128;

std::vector<std::string> texts(const json::value* list) {
  std::vector<std::string> out;
  if (list && list->is_array())
    for (const auto& item : list->get_array())
      if (item.is_string()) out.emplace_back(item.get_string());
  return out;
}

bool flag(const json::value& in, std::string_view name) {
  const auto* member = find(in, name);
  return member && member->is_bool() && member->get_bool();
}

std::unexpected<Error> required(std::string_view field) {
  return fail(ErrorCode::Invalid, fmt::format("{}: Required value", field));
}

// The schema of a custom object: that of the CRD plus apiVersion, kind and metadata.
Result<const api::Schema*> rootSchema(api::SchemaSet& set, const json::value* openApi) {
  const json::value anything{{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
  auto compiled = compileSchema(set, openApi ? *openApi : anything);
  if (!compiled) return compiled;
  auto& root = const_cast<api::Schema&>(**compiled);  // made just now
  root.type = api::Schema::Type::Object;
  std::erase_if(root.fields, [](const api::SchemaField& field) {
    return field.name == "apiVersion" || field.name == "kind" || field.name == "metadata";
  });
  auto& text = set.add();
  text.type = api::Schema::Type::String;
  root.fields.push_back({"apiVersion", &text});
  root.fields.push_back({"kind", &text});
  root.fields.push_back({"metadata", set.find("ObjectMeta")});
  std::ranges::sort(root.fields, {}, &api::SchemaField::name);
  return compiled;
}

Result<ResourceVersion> versionOf(api::SchemaSet& set, const json::value& in,
                                  const std::string& path) {
  ResourceVersion version;
  version.name = textAt(in, "name");
  if (version.name.empty()) return required(path + ".name");
  version.served = flag(in, "served");
  version.storage = flag(in, "storage");
  if (flag(in, "deprecated")) {
    version.deprecationWarning = textAt(in, "deprecationWarning");
    if (version.deprecationWarning.empty())
      version.deprecationWarning = fmt::format("version {} is deprecated", version.name);
  }
  version.hasStatus = at(in, "subresources", "status") != nullptr;
  if (const auto* scale = at(in, "subresources", "scale"))
    version.scale = ScalePaths{std::string(textAt(*scale, "specReplicasPath")),
                               std::string(textAt(*scale, "statusReplicasPath")),
                               std::string(textAt(*scale, "labelSelectorPath"))};
  if (const auto* columns = find(in, "additionalPrinterColumns"); columns && columns->is_array()) {
    for (const auto& column : columns->get_array()) {
      const auto* priority = find(column, "priority");
      version.columns.push_back(
          {std::string(textAt(column, "name")), std::string(textAt(column, "type")),
           std::string(textAt(column, "description")),
           priority && priority->is_int64() ? static_cast<int>(priority->get_int64()) : 0,
           std::string(textAt(column, "jsonPath"))});
    }
  }
  auto schema = rootSchema(set, at(in, "schema", "openAPIV3Schema"));
  if (!schema) return fail(std::move(schema.error()).within(path + ".schema"));
  version.schema = *schema;
  version.rules = CustomRules::compile(**schema);
  return version;
}

// Sets group, plural and kind, and checks the object's name.
Result<> setNames(Resource& resource, const json::value& spec, std::string_view name) {
  resource.group = textAt(spec, "group");
  resource.plural = textAt(spec, "names", "plural");
  resource.kind = textAt(spec, "names", "kind");
  for (auto [value, field] :
       {std::pair{&resource.group, "spec.group"}, std::pair{&resource.plural, "spec.names.plural"},
        std::pair{&resource.kind, "spec.names.kind"}})
    if (value->empty()) return required(field);
  if (const auto wrong = api::checkDnsSubdomain(resource.group); !wrong.empty())
    return fail(ErrorCode::Invalid,
                fmt::format("spec.group: Invalid value: \"{}\": {}", resource.group, wrong));
  const auto expected = resource.plural + "." + resource.group;
  if (name != expected)
    return fail(
        ErrorCode::Invalid,
        fmt::format(
            "metadata.name: Invalid value: \"{}\": must be spec.names.plural+\".\"+spec.group",
            name));
  return {};
}

Result<> setVersions(Resource& resource, const json::value& spec) {
  auto set = std::make_shared<api::SchemaSet>();
  if (auto added = api::addTypes(*set, api::tables::kMeta); !added) return fail(added.error());
  const auto* versions = find(spec, "versions");
  if (!versions || !versions->is_array() || versions->get_array().empty())
    return required("spec.versions");
  int stored = 0;
  for (std::size_t i = 0; i < versions->get_array().size(); ++i) {
    const auto& in = versions->get_array()[i];
    auto version = versionOf(*set, in, fmt::format("spec.versions[{}]", i));
    if (!version) return fail(version.error());
    stored += version->storage;
    if (const auto* selectable = find(in, "selectableFields");
        selectable && selectable->is_array() && version->storage)
      for (const auto& field : selectable->get_array()) {
        std::string path(textAt(field, "jsonPath"));
        if (path.starts_with('.')) path.erase(0, 1);
        resource.selectableFields.push_back(std::move(path));
      }
    resource.versions.push_back(*std::move(version));
  }
  if (stored != 1)
    return fail(
        ErrorCode::Invalid,
        "spec.versions: Invalid value: must have exactly one version marked as storage version");
  resource.schemas = std::move(set);
  return {};
}

// A label of RFC 1035 begins with a letter.
bool isVersionName(std::string_view name) {
  return !name.empty() && isLower(name.front()) && api::checkDnsLabel(name).empty();
}

bool isCommunityGroup(std::string_view group) {
  return group == "k8s.io" || group.ends_with(".k8s.io") || group == "kubernetes.io" ||
         group.ends_with(".kubernetes.io");
}

// A URL of the decision, or the reason why there is none.
bool isApproval(std::string_view text) {
  const auto scheme = text.find("://");
  return text.starts_with("unapproved") ||
         (scheme != std::string_view::npos && scheme > 0 && scheme + 3 < text.size());
}

Result<> checkGroup(const json::value& crd) {
  constexpr const char* kApproved = "api-approved.kubernetes.io";
  const auto group = textAt(crd, "spec", "group");
  if (group.find('.') == std::string_view::npos)
    return fail(
        ErrorCode::Invalid,
        fmt::format("spec.group: Invalid value: \"{}\": should be a domain with at least one dot",
                    group));
  if (!isCommunityGroup(group)) return {};
  const auto approval = textAt(crd, "metadata", "annotations", kApproved);
  if (isApproval(approval)) return {};
  const auto why = fmt::format(
      "protected groups must have approval annotation \"{}\"{}, see "
      "https://github.com/kubernetes/enhancements/pull/1111",
      kApproved,
      approval.empty() ? "" : " with either a URL or a reason starting with \"unapproved\"");
  return fail(ErrorCode::Invalid,
              approval.empty()
                  ? fmt::format("metadata.annotations[{}]: Required value: {}", kApproved, why)
                  : fmt::format("metadata.annotations[{}]: Invalid value: {}: {}", kApproved,
                                toJson(json::string(approval)), why));
}

const json::array* arrayOf(const json::value* value) {
  return value ? value->if_array() : nullptr;
}

const json::value* versionNamed(const json::array& versions, std::string_view name) {
  const auto found = std::ranges::find_if(
      versions, [&](const json::value& version) { return textAt(version, "name") == name; });
  return found == versions.end() ? nullptr : &*found;
}

std::vector<std::string_view> namesOf(const json::array& versions) {
  std::vector<std::string_view> names;
  for (const auto& version : versions) names.push_back(textAt(version, "name"));
  return names;
}

Result<> checkUnique(const json::array& versions) {
  std::set<std::string_view> seen;
  for (const auto name : namesOf(versions))
    if (!seen.insert(name).second)
      return fail(
          ErrorCode::Invalid,
          fmt::format("spec.versions: Invalid value: \"{}\": must contain unique version names",
                      name));
  return {};
}

// `before`: the stored version of this name.
Result<> checkVersion(const json::value& version, const json::value* before, std::size_t index) {
  const auto name = textAt(version, "name");
  if (!before && !isVersionName(name))
    return fail(ErrorCode::Invalid,
                fmt::format("spec.versions[{}].name: Invalid value: {}: a DNS-1035 label must "
                            "consist of lower case alphanumeric characters or '-', start with an "
                            "alphabetic character, and end with an alphanumeric character",
                            index, toJson(json::string(name))));
  const auto* columns = arrayOf(find(version, "additionalPrinterColumns"));
  if (!columns || columns->size() <= kMaxPrinterColumns) return {};
  if (before && memberOf(*before, "additionalPrinterColumns") == *columns) return {};
  return fail(
      ErrorCode::Invalid,
      fmt::format(
          "spec.versions[{}].additionalPrinterColumns: Too many: {}: must have at most {} items",
          index, columns->size(), kMaxPrinterColumns));
}

}  // namespace

Result<> checkCrd(const json::value& crd, const Registry& registry, const json::value* old) {
  const auto name = textAt(crd, "metadata", "name");
  if (const auto known = registry.findByTable(name); !old && known && !known->custom)
    return fail(
        ErrorCode::Invalid,
        fmt::format("metadata.name: Invalid value: \"{}\": this server has it built in", name));
  if (!old)
    if (auto good = checkGroup(crd); !good) return good;
  const auto* versions = arrayOf(at(crd, "spec", "versions"));
  if (!versions) return {};
  const auto* before = old ? arrayOf(at(*old, "spec", "versions")) : nullptr;
  for (std::size_t i = 0; i < versions->size(); ++i) {
    // Unchanged parts passed the rules of their time.
    const auto& version = (*versions)[i];
    if (before && std::ranges::find(*before, version) != before->end()) continue;
    const auto* known = before ? versionNamed(*before, textAt(version, "name")) : nullptr;
    if (auto good = checkVersion(version, known, i); !good) return good;
  }
  return before && namesOf(*before) == namesOf(*versions) ? Result<>{} : checkUnique(*versions);
}

Result<Resource> resourceOfCrd(const json::value& crd) {
  const auto* spec = find(crd, "spec");
  if (!spec) return required("spec");
  Resource resource;
  resource.custom = true;
  resource.terminating = !textAt(crd, "metadata", "deletionTimestamp").empty();
  resource.hasGeneration = true;
  resource.conditionalUpdatesOnly = true;
  if (auto set = setNames(resource, *spec, textAt(crd, "metadata", "name")); !set)
    return fail(std::move(set.error()));
  resource.singular = textAt(*spec, "names", "singular");
  if (resource.singular.empty()) resource.singular = lowered(resource.kind);
  resource.listKind = textAt(*spec, "names", "listKind");
  if (resource.listKind.empty()) resource.listKind = resource.kind + "List";
  resource.shortNames = texts(at(*spec, "names", "shortNames"));
  resource.categories = texts(at(*spec, "names", "categories"));
  const auto scope = textAt(*spec, "scope");
  if (scope != "Namespaced" && scope != "Cluster")
    return fail(
        ErrorCode::Invalid,
        fmt::format(
            "spec.scope: Unsupported value: \"{}\": supported values: \"Cluster\", \"Namespaced\"",
            scope));
  resource.namespaced = scope == "Namespaced";
  if (auto set = setVersions(resource, *spec); !set) return fail(std::move(set.error()));
  return resource;
}

std::vector<std::string> checkRules(const Resource& resource, const json::value& crd,
                                    const json::value* old) {
  std::vector<std::string> problems;
  const auto* versions = arrayOf(at(crd, "spec", "versions"));
  const auto* before = old ? arrayOf(at(*old, "spec", "versions")) : nullptr;
  for (std::size_t i = 0; versions && i < resource.versions.size(); ++i) {
    const auto& rules = resource.versions[i].rules;
    if (!rules || (before && std::ranges::find(*before, (*versions)[i]) != before->end())) continue;
    for (const std::string& problem : rules->problems())
      problems.push_back(fmt::format("spec.versions[{}].schema.{}", i, problem));
  }
  return problems;
}

void completeCrd(json::value& crd, std::string_view now) {
  auto& object = crd.get_object();
  auto* spec = object.contains("spec") ? object["spec"].if_object() : nullptr;
  auto* names = spec && spec->contains("names") ? (*spec)["names"].if_object() : nullptr;
  if (!names) return;
  const std::string kind(textAt((*spec)["names"], "kind"));
  if (textAt((*spec)["names"], "singular").empty()) (*names)["singular"] = lowered(kind);
  if (textAt((*spec)["names"], "listKind").empty()) (*names)["listKind"] = kind + "List";
  const json::value accepted = *names;
  if (!spec->contains("conversion")) (*spec)["conversion"] = {{"strategy", "None"}};

  // Adding a member moves the others: copy first what status takes from spec.
  std::vector<std::string> storage;
  if (const auto* versions = spec->if_contains("versions"); versions && versions->is_array())
    for (const auto& version : versions->get_array())
      if (flag(version, "storage")) storage.emplace_back(textAt(version, "name"));
  if (!object["status"].is_object()) object["status"] = json::object{};
  auto& status = object["status"].get_object();
  status["acceptedNames"] = accepted;
  json::array stored;
  if (const auto* before = status.if_contains("storedVersions"); before && before->is_array())
    stored = before->get_array();
  for (const auto& version : storage) {
    const json::value name(version);
    if (std::ranges::find(stored, name) == stored.end()) stored.push_back(name);
  }
  status["storedVersions"] = std::move(stored);
  if (const auto* known = status.if_contains("conditions"); !known || !known->is_array()) {
    const auto condition = [&](const char* type, const char* reason, const char* message) {
      return json::value{{"type", type},
                         {"status", "True"},
                         {"lastTransitionTime", now},
                         {"reason", reason},
                         {"message", message}};
    };
    status["conditions"] = {
        condition("NamesAccepted", "NoConflicts", "no conflicts found"),
        condition("Established", "InitialNamesAccepted", "the initial names have been accepted")};
  }
}

}  // namespace koord::apiserver
