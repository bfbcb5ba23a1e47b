#pragma once

// What one user may see of the tables, and the viewer of one request or one stream.
//
// The console follows the cluster once, with its own credentials, for all users. So everything that
// leaves it for a user passes a View: rows by their keys, and sums only if the user may list all
// objects that they sum up.

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace koord::kube {
class Caller;
}

namespace koord::console {

// The tables, in the order of Console's constructor.
enum class TableId { Nodes, Metrics, Quotas, Gangs, Moves, Reservations, Pods };
inline constexpr std::size_t kTables = 7;

// What a user may see of one table.
struct Part {
  bool all = false;
  std::set<std::string, std::less<>> namespaces;  // if not all

  bool none() const { return !all && namespaces.empty(); }
  // key: "name" or "namespace/name". Objects without a namespace are visible only with all.
  bool shows(std::string_view key) const {
    if (all) return true;
    const auto slash = key.find('/');
    return slash != key.npos && namespaces.contains(key.substr(0, slash));
  }
  bool operator==(const Part&) const = default;
};

struct View {
  std::vector<Part> parts = std::vector<Part>(kTables);  // by TableId
  // True if namespaces beyond the bound were not asked about.
  bool bounded = false;

  const Part& of(TableId table) const { return parts[static_cast<std::size_t>(table)]; }
  bool everything() const {
    for (const Part& part : parts)
      if (!part.all) return false;
    return true;
  }
  static std::shared_ptr<const View> ofEverything();
};

class Viewer {
 public:
  virtual ~Viewer() = default;
  // Null if it is not known: rights could not be checked for too long. Then nothing may be sent.
  virtual std::shared_ptr<const View> view() const = 0;
  // Why the stream must end: the credentials are not valid. "" = they are.
  virtual const std::string& ended() const = 0;
  // The user, for questions to other components; null for the owner of the console, who sees what
  // the credentials of the console may list.
  virtual const std::shared_ptr<const kube::Caller>& caller() const = 0;
};

// The owner of the console, who sees everything that it lists.
std::shared_ptr<const Viewer> owner();

}  // namespace koord::console
