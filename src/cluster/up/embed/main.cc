// Converts YAML manifests to a C++ source with JSON, so that koordctl contains its manifests and
// does not parse YAML at its start: koord_embed OUT.cc SET FILE... [SET FILE...]
// A SET is a word without a dot; the files after it belong to it.

#include <cstdio>
#include <fstream>
#include <string>

#include "base/file.h"
#include "base/yaml.h"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::ofstream out(argv[1]);
  out << "#include \"cluster/up/manifests.h\"\n\nnamespace koord::cluster {\n\n"
         "const std::vector<Manifest>& embeddedManifests() {\n"
         "  static const std::vector<Manifest> all = {\n";
  std::string set;
  for (int i = 2; i < argc; ++i) {
    const std::string path = argv[i];
    if (path.find('.') == std::string::npos) {
      set = path;
      continue;
    }
    const auto text = koord::readFile(path);
    const auto documents = text ? koord::parseYamlDocuments(*text) : koord::fail(text.error());
    if (!documents) {
      std::fprintf(stderr, "%s: %s\n", path.c_str(), documents.error().message.c_str());
      return 1;
    }
    for (const auto& document : *documents)
      out << "      {\"" << set << "\", R\"KOORDJSON(" << koord::toJson(document)
          << ")KOORDJSON\"},\n";
  }
  out << "  };\n  return all;\n}\n\n}  // namespace koord::cluster\n";
  return out.good() ? 0 : 1;
}
