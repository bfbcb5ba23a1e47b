#include "cluster/simnode/node_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/names.h"
#include "api/resource_devices.h"
#include "base/yaml.h"
#include "model/node_names.h"
#include "model/well_known.h"

namespace koord::cluster {

namespace {

// Reads the fields of one object; keeps the first error, with its path.
class ShapeReader {
 public:
  ShapeReader(const json::value& value, std::string path, std::optional<Error>& error)
      : path_(std::move(path)), error_(error) {
    if (value.is_object()) {
      object_ = &value.get_object();
    } else if (!value.is_null()) {
      wrong("", "expected an object");
    }
  }
  ~ShapeReader() {
    if (!object_) return;
    for (const auto& [key, value] : *object_)
      if (std::ranges::find(taken_, std::string(key)) == taken_.end()) wrong(key, "unknown field");
  }
  ShapeReader(const ShapeReader&) = delete;
  ShapeReader& operator=(const ShapeReader&) = delete;

  const json::value* take(std::string_view key) {
    taken_.emplace_back(key);
    const json::value* value = object_ ? object_->if_contains(key) : nullptr;
    return value && !value->is_null() ? value : nullptr;
  }
  void number(std::string_view key, int& out, int least, int most) {
    const json::value* value = take(key);
    if (!value) return;
    const bool good =
        value->is_int64() && value->get_int64() >= least && value->get_int64() <= most;
    if (!good) return wrong(key, fmt::format("must be a number from {} to {}", least, most));
    out = static_cast<int>(value->get_int64());
  }
  void text(std::string_view key, std::string& out) {
    const json::value* value = take(key);
    if (!value) return;
    if (!value->is_string() || value->get_string().empty())
      return wrong(key, "expected a string that is not empty");
    out = std::string(value->get_string());
  }
  void texts(std::string_view key, api::StringMap& out) {
    const json::value* value = take(key);
    if (!value) return;
    if (!value->is_object()) return wrong(key, "expected an object with string values");
    for (const auto& [name, text] : value->get_object()) {
      if (!text.is_string())
        return wrong(key, fmt::format("{}: expected a text", std::string(name)));
      out[std::string(name)] = std::string(text.get_string());
    }
  }
  void amounts(std::string_view key, api::ResourceList& out) {
    const json::value* value = take(key);
    if (!value) return;
    if (!value->is_object()) return wrong(key, "expected resource quantities");
    for (const auto& [name, amount] : value->get_object()) {
      const std::string text =
          amount.is_string() ? std::string(amount.get_string()) : toJson(amount);
      const auto quantity = Quantity::parse(text);
      if (!quantity || quantity->sign() < 0)
        return wrong(key, fmt::format("{}: \"{}\" is not a quantity", std::string(name), text));
      out[std::string(name)] = *quantity;
    }
  }
  void wrong(std::string_view key, std::string_view what) {
    if (error_) return;
    const std::string path = path_.empty() ? std::string(key)
                             : key.empty() ? path_
                                           : path_ + "." + std::string(key);
    error_ =
        Error{ErrorCode::Invalid, fmt::format("{}: {}", path.empty() ? "file" : path, what), {}};
  }

 private:
  const json::object* object_ = nullptr;
  std::string path_;
  std::optional<Error>& error_;
  std::vector<std::string> taken_;
};

SimNodeShape::Cpus readCpus(const json::value& value, std::optional<Error>& error) {
  SimNodeShape::Cpus cpus;
  ShapeReader reader(value, "cpus", error);
  reader.number("sockets", cpus.sockets, 1, 16);
  reader.number("numaNodesPerSocket", cpus.numaNodesPerSocket, 1, 16);
  reader.number("coresPerNumaNode", cpus.coresPerNumaNode, 1, 1024);
  reader.number("threadsPerCore", cpus.threadsPerCore, 1, 8);
  return cpus;
}

SimNodeShape::Gpus readGpus(const json::value& value, std::optional<Error>& error) {
  SimNodeShape::Gpus gpus;
  ShapeReader reader(value, "gpus", error);
  reader.number("count", gpus.count, 1, 64);
  reader.number("perSwitch", gpus.perSwitch, 1, 64);
  reader.text("vendor", gpus.vendor);
  reader.text("model", gpus.model);
  std::string partitions = "none";
  reader.text("partitions", partitions);
  if (partitions != "none" && partitions != "NVLink")
    reader.wrong("partitions", "must be none or NVLink");
  gpus.nvLink = partitions == "NVLink";
  std::string memory = "16Gi";
  reader.text("memory", memory);
  const auto quantity = Quantity::parse(memory);
  if (!quantity || quantity->sign() <= 0) {
    reader.wrong("memory", fmt::format("\"{}\" is not a quantity", memory));
  } else {
    gpus.memory = *quantity;
  }
  if (gpus.count == 0) reader.wrong("count", "must be a number from 1 to 64");
  return gpus;
}

SimNodeShape::Rdma readRdma(const json::value& value, std::optional<Error>& error) {
  SimNodeShape::Rdma rdma;
  ShapeReader reader(value, "rdma", error);
  reader.number("perSwitch", rdma.perSwitch, 1, 16);
  reader.number("functions", rdma.functions, 0, 256);
  return rdma;
}

SimNodeShape::Dra readDra(const json::value& value, const std::string& path,
                          std::optional<Error>& error) {
  SimNodeShape::Dra dra;
  ShapeReader reader(value, path, error);
  reader.text("driver", dra.driver);
  reader.number("count", dra.count, 1, static_cast<int>(api::kMaxDevicesOfSlice));
  reader.text("model", dra.model);
  reader.text("extendedResource", dra.extendedResource);
  std::string memory;
  reader.text("memory", memory);
  if (!memory.empty()) {
    const auto quantity = Quantity::parse(memory);
    if (quantity && quantity->sign() > 0) {
      dra.memory = *quantity;
    } else {
      reader.wrong("memory", fmt::format("\"{}\" is not a quantity", memory));
    }
  }
  if (const auto wrong = api::checkDnsSubdomain(dra.driver); !wrong.empty())
    reader.wrong("driver", wrong);
  if (dra.count == 0)
    reader.wrong("count", fmt::format("must be a number from 1 to {}", api::kMaxDevicesOfSlice));
  return dra;
}

std::vector<SimNodeShape::Dra> readDraList(const json::value& value, std::optional<Error>& error) {
  std::vector<SimNodeShape::Dra> out;
  const auto* list = value.if_array();
  if (!list) {
    if (!error) error = Error{ErrorCode::Invalid, "dra: expected a list", {}};
    return out;
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    out.push_back(readDra((*list)[i], fmt::format("dra[{}]", i), error));
    const auto first = std::ranges::find(out, out.back().driver, &SimNodeShape::Dra::driver);
    if (first != out.end() - 1 && !error)
      error = Error{ErrorCode::Invalid,
                    fmt::format("dra[{}].driver: duplicate driver \"{}\"", i, first->driver),
                    {}};
  }
  return out;
}

int numaNodesOf(const SimNodeShape& shape) {
  return shape.cpus ? shape.cpus->numaNodes() : 1;
}

// GPUs have PCIe switches; without GPUs, cards have one.
int switchesOf(const SimNodeShape& shape) {
  return shape.gpus ? (shape.gpus->count + shape.gpus->perSwitch - 1) / shape.gpus->perSwitch : 1;
}

std::string switchName(int index) {
  return fmt::format("pci0000:{:02x}", 0x10 + index * 0x10);
}

std::string busOf(int pcie, int slot) {
  return fmt::format("0000:{:02x}:00.0", 0x10 + pcie * 0x10 + slot + 1);
}

json::object placeOf(const SimNodeShape& shape, int pcie, int slot) {
  const int numa = pcie * numaNodesOf(shape) / switchesOf(shape);
  const int perSocket = shape.cpus ? shape.cpus->numaNodesPerSocket : 1;
  return {{"socketID", numa / perSocket},
          {"nodeID", numa},
          {"pcieID", switchName(pcie)},
          {"busID", busOf(pcie, slot)}};
}

json::object nvLinkTable(int count) {
  json::object table;
  for (int size = 1; size <= count; size *= 2) {
    json::array list;
    for (int first = 0; first + size <= count; first += size) {
      json::array minors;
      for (int minor = first; minor < first + size; ++minor) minors.push_back(minor);
      list.push_back(json::object{
          {"minors", std::move(minors)}, {"gpuLinkType", "NVLink"}, {"allocationScore", 1}});
    }
    table[std::to_string(size)] = std::move(list);
  }
  return table;
}

void addGpus(const SimNodeShape& shape, const std::string& node, json::array& devices) {
  for (int minor = 0; minor < shape.gpus->count; ++minor) {
    json::object resources{{json::string(model::kGpuCore), "100"},
                           {json::string(model::kGpuMemory), shape.gpus->memory.toString()},
                           {json::string(model::kGpuMemoryRatio), "100"}};
    devices.push_back(json::object{{"type", "gpu"},
                                   {"minor", minor},
                                   {"id", fmt::format("GPU-{}-{}", node, minor)},
                                   {"health", true},
                                   {"resources", std::move(resources)},
                                   {"topology", placeOf(shape, minor / shape.gpus->perSwitch,
                                                        minor % shape.gpus->perSwitch)}});
  }
}

void addCards(const SimNodeShape& shape, json::array& devices) {
  int minor = 0;
  for (int pcie = 0; pcie < switchesOf(shape); ++pcie) {
    for (int slot = 0; slot < shape.rdma->perSwitch; ++slot, ++minor) {
      json::object card{{"type", "rdma"},
                        {"minor", minor},
                        {"id", busOf(pcie, 8 + slot)},
                        {"health", true},
                        {"resources", json::object{{model::kRdma, "100"}}},
                        {"topology", placeOf(shape, pcie, 8 + slot)}};
      json::array functions;
      for (int i = 0; i < shape.rdma->functions; ++i) {
        functions.push_back(json::object{
            {"minor", i},
            {"busID", fmt::format("0000:{:02x}:{:02x}.{}", 0x80 + minor, i / 8, i % 8)}});
      }
      if (!functions.empty())
        card["vfGroups"] = json::array{json::object{{"vfs", std::move(functions)}}};
      devices.push_back(std::move(card));
    }
  }
}

}  // namespace

Result<SimNodeShape> parseNodeShape(std::string_view yaml) {
  const auto document = parseYaml(yaml);
  if (!document) return fail(document.error());
  SimNodeShape shape;
  std::optional<Error> error;
  {
    ShapeReader reader(*document, "", error);
    reader.text("name", shape.name);
    reader.texts("labels", shape.labels);
    reader.texts("annotations", shape.annotations);
    reader.amounts("capacity", shape.capacity);
    if (const auto* cpus = reader.take("cpus")) shape.cpus = readCpus(*cpus, error);
    if (const auto* gpus = reader.take("gpus")) shape.gpus = readGpus(*gpus, error);
    if (const auto* rdma = reader.take("rdma")) shape.rdma = readRdma(*rdma, error);
    if (const auto* dra = reader.take("dra")) shape.dra = readDraList(*dra, error);
  }
  if (error) return fail(*std::move(error));
  return shape;
}

api::ResourceList capacityOf(const SimNodeShape& shape) {
  api::ResourceList capacity = shape.capacity;
  const auto put = [&](std::string_view name, Quantity amount) {
    capacity.try_emplace(std::string(name), amount);
  };
  put("cpu", Quantity::of(shape.cpus ? shape.cpus->threads() : 32));
  put("memory", Quantity::of(std::int64_t{128} << 30, Quantity::Format::BinarySI));
  put("pods", Quantity::of(110));
  if (shape.gpus) {
    const int count = shape.gpus->count;
    const auto percent = Quantity::of(100 * std::int64_t{count});
    if (shape.gpus->vendor == "nvidia") put(model::kNvidiaGpu, Quantity::of(count));
    if (shape.gpus->vendor == "amd") put(model::kAmdGpu, Quantity::of(count));
    for (const auto name :
         {model::kGpu, model::kGpuCore, model::kGpuMemoryRatio, model::kGpuShared})
      put(name, percent);
    put(model::kGpuMemory,
        Quantity::of(shape.gpus->memory.value() * count, Quantity::Format::BinarySI));
  }
  if (shape.rdma)
    put(model::kRdma, Quantity::of(100 * std::int64_t{switchesOf(shape)} * shape.rdma->perSwitch));
  return capacity;
}

api::StringMap labelsOf(const SimNodeShape& shape) {
  api::StringMap labels = shape.labels;
  if (!shape.gpus) return labels;
  labels.try_emplace(std::string(model::kLabelGpuVendor), shape.gpus->vendor);
  if (!shape.gpus->model.empty())
    labels.try_emplace(std::string(model::kLabelGpuModel), shape.gpus->model);
  return labels;
}

// CPUs are numbered as in Linux: the first threads of all cores, then the second ones.
std::optional<json::object> topologyOf(const SimNodeShape& shape, const std::string& node) {
  if (!shape.cpus) return std::nullopt;
  const SimNodeShape::Cpus& cpus = *shape.cpus;
  const api::ResourceList capacity = capacityOf(shape);
  json::array detail;
  for (int cpu = 0; cpu < cpus.threads(); ++cpu) {
    const int core = cpu % cpus.cores();
    const int numa = core / cpus.coresPerNumaNode;
    detail.push_back(json::object{
        {"id", cpu}, {"core", core}, {"socket", numa / cpus.numaNodesPerSocket}, {"node", numa}});
  }
  json::array zones;
  const std::int64_t memory = capacity.find("memory")->second.value() / cpus.numaNodes();
  const int threads = cpus.coresPerNumaNode * cpus.threadsPerCore;
  for (int numa = 0; numa < cpus.numaNodes(); ++numa) {
    json::array resources;
    const auto add = [&](const char* name, const std::string& amount) {
      resources.push_back(json::object{
          {"name", name}, {"capacity", amount}, {"allocatable", amount}, {"available", amount}});
    };
    add("cpu", std::to_string(threads));
    add("memory", Quantity::of(memory, Quantity::Format::BinarySI).toString());
    zones.push_back(json::object{{"name", fmt::format("node-{}", numa)},
                                 {"type", "Node"},
                                 {"resources", std::move(resources)}});
  }
  json::object annotations{
      {model::kAnnotationCpuTopology, toJson(json::object{{"detail", std::move(detail)}})},
      {model::kAnnotationKubeletCpus, R"({"policy":"none"})"}};
  return json::object{
      {"apiVersion", "topology.node.k8s.io/v1alpha1"},
      {"kind", "NodeResourceTopology"},
      {"metadata", json::object{{"name", node}, {"annotations", std::move(annotations)}}},
      {"topologyPolicies", json::array{"None"}},
      {"zones", std::move(zones)}};
}

std::optional<json::object> deviceOf(const SimNodeShape& shape, const std::string& node) {
  if (!shape.gpus && !shape.rdma) return std::nullopt;
  json::object metadata{{"name", node}};
  json::array devices;
  if (shape.gpus) {
    json::object labels;
    for (const auto& [key, value] : labelsOf({.gpus = shape.gpus})) labels[key] = value;
    metadata["labels"] = std::move(labels);
    if (shape.gpus->nvLink) {
      metadata["annotations"] =
          json::object{{model::kAnnotationGpuPartitions, toJson(nvLinkTable(shape.gpus->count))}};
    }
    addGpus(shape, node, devices);
  }
  if (shape.rdma) addCards(shape, devices);
  return json::object{{"apiVersion", "scheduling.koordinator.sh/v1alpha1"},
                      {"kind", "Device"},
                      {"metadata", std::move(metadata)},
                      {"spec", json::object{{"devices", std::move(devices)}}}};
}

}  // namespace koord::cluster
