#include "koordctl/explain/explain_flags.h"

#include "api/core.h"
#include "api/elasticquota.h"
#include "api/migration.h"
#include "api/pod.h"
#include "api/podgroup.h"
#include "api/recommendation.h"
#include "api/reservation.h"
#include "koordctl/common/cluster_flags.h"
#include "koordctl/completion/object_names.h"

namespace koord::koordctl {

namespace {

using Arguments = std::vector<std::string>;
using About = ExplainOptions::About;

struct Explained {
  About about;
  const char* subject;
  const char* argument;
  const char* summary;
  const api::ResourceType& type;  // of the names that a shell offers
};

bool hasNamespace(About about) {
  return about == About::Pod || about == About::Gang || about == About::Migration ||
         about == About::Recommendation;
}

// Names of the subject; the first argument only.
flags::Completion namesFor(const ExplainOptions& options, const Explained& row,
                           const Arguments& given) {
  if (!given.empty()) return {};
  // With a namespace a migration is named by its pod.
  const bool pods = row.about == About::Migration && !options.namespace_.empty();
  return objectNames(options.kubeconfig, pods ? api::Pod::kType : row.type,
                     hasNamespace(row.about) ? options.namespace_ : "");
}

// Adds a command with the flags that all of them have.
flags::Command& add(flags::Commands& commands, ExplainFlags& flags, const Explained& row) {
  auto& options = flags.options;
  auto& command = commands.add(std::string("explain ") + row.subject, row.summary);
  command.arguments = row.argument;
  command.flags.text(
      "scheduler", options.scheduler,
      "Address of koord-scheduler, as https://127.0.0.1:10259; default: that of 'koordctl "
      "up'");
  addKubeconfigFlag(command.flags, options.kubeconfig);
  if (hasNamespace(row.about))
    command.flags
        .text("namespace", options.namespace_,
              row.about == About::Migration
                  ? "Namespace of the pod; then the argument is a pod and not a job"
                  : "Namespace of NAME; default: that of the kubeconfig's context")
        .shortName('n')
        .completeBy([&options] { return objectNames(options.kubeconfig, api::Namespace::kType); });
  command.flags.text("output", flags.output, "Format: json or yaml; default: text")
      .oneOf({"json", "yaml"})
      .shortName('o');
  command.flags.boolean("json", flags.json, "The same as --output=json");
  command.complete = [&options, row](const Arguments& given) {
    return namesFor(options, row, given);
  };
  return command;
}

// The problem of the arguments; "" if they are right. Sets the name.
std::string takeName(ExplainOptions& options, const Explained& row, const Arguments& names) {
  const bool file = row.about == About::Pod && !options.file.empty();
  if (names.size() + (file ? 1 : 0) != 1)
    return row.about == About::Pod ? "one POD, or --filename" : std::string("one ") + row.argument;
  options.about = row.about;
  if (file) return "";
  options.name = names.front();
  const auto slash = options.name.find('/');
  if (slash == std::string::npos || options.namespace_.empty()) return "";
  if (options.name.substr(0, slash) != options.namespace_)
    return options.name + ": the namespace differs from that of --namespace";
  return "";
}

int run(const flags::Commands& commands, ExplainFlags& flags, const Explained& row,
        const Arguments& names) {
  auto& options = flags.options;
  if (auto problem = takeName(options, row, names); !problem.empty())
    return commands.refuse(problem, std::string("explain ") + row.subject);
  using Format = ExplainOptions::Format;
  options.format = flags.output == "yaml"                 ? Format::Yaml
                   : flags.output == "json" || flags.json ? Format::Json
                                                          : Format::Text;
  return runExplain(options);
}

}  // namespace

void addExplainCommands(flags::Commands& commands, ExplainFlags& flags) {
  auto& options = flags.options;
  for (const Explained& row :
       {Explained{About::Pod, "pod", "[POD]",
                  "Explain why a pod is on its node, or why it is pending", api::Pod::kType},
        Explained{About::Gang, "gang", "[NAMESPACE/]NAME", "Explain the state of a gang's pods",
                  api::PodGroup::kType},
        Explained{About::Quota, "quota", "NAME",
                  "Explain what a quota may use, what it uses, and why", api::ElasticQuota::kType},
        Explained{About::Reservation, "reservation", "NAME",
                  "Explain what a reservation reserves, and for which pods",
                  api::Reservation::kType},
        Explained{
            About::Node, "node", "NAME",
            "Explain how a node's batch and mid resources are computed; show its CPUs and their "
            "pods",
            api::Node::kType},
        Explained{About::Migration, "migration", "JOB|NAMESPACE/POD",
                  "Explain where a pod is migrated to, why, and the progress",
                  api::PodMigrationJob::kType},
        Explained{About::Recommendation, "recommendation", "[NAMESPACE/]NAME",
                  "Explain how much the containers of a workload need, and from which samples",
                  api::Recommendation::kType}}) {
    auto& command = add(commands, flags, row);
    if (row.about == About::Node || row.about == About::Recommendation)
      command.flags.text(
          "manager", options.manager,
          "Address of koord-manager's metrics, as http://127.0.0.1:8080; default: that of "
          "'koordctl up'");
    if (row.about == About::Pod) {
      command.details =
          "POD is NAMESPACE/NAME, or NAME in the namespace of --namespace.\n"
          "  koordctl explain pod shop/web-0      which plugin rejects which nodes, what would "
          "make "
          "it fit,\n"
          "                                       and the state of its gang, quota and "
          "reservations\n"
          "  koordctl explain pod -f web.yaml     the same for the pod of a manifest, without "
          "creating it;\n"
          "                                       - is standard input";
      command.flags
          .text("filename", options.file,
                "Manifest of a pod or of a workload with a pod template, instead of POD")
          .shortName('f');
    }
    command.run = [&commands, &flags, row](const Arguments& names) {
      return run(commands, flags, row, names);
    };
  }
}

}  // namespace koord::koordctl
