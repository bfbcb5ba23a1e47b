#include "cluster/simnode/dra_devices.h"

#include <fmt/format.h>

namespace koord::cluster {

namespace {

// "gpu" of gpu.example.com.
std::string deviceNameOf(const SimNodeShape::Dra& dra, int index) {
  return fmt::format("{}-{}", dra.driver.substr(0, dra.driver.find('.')), index);
}

api::SliceDevice deviceOf(const SimNodeShape& shape, const SimNodeShape::Dra& dra,
                          const std::string& node, int index) {
  const int numaNodes = shape.cpus ? shape.cpus->numaNodes() : 1;
  api::SliceDevice device;
  device.name = deviceNameOf(dra, index);
  device.attributes["index"].int_ = index;
  device.attributes["uuid"].string = fmt::format("{}-{}", node, device.name).substr(0, 64);
  device.attributes["driverVersion"].version = "1.0.0";
  device.attributes["numaNode"].int_ = index * numaNodes / dra.count;
  if (!dra.model.empty()) device.attributes["model"].string = dra.model;
  if (dra.memory) device.capacity["memory"].value = *dra.memory;
  return device;
}

}  // namespace

std::vector<api::ResourceSlice> slicesOf(const SimNodeShape& shape, const std::string& node,
                                         const std::string& uid) {
  std::vector<api::ResourceSlice> slices;
  for (const auto& dra : shape.dra) {
    api::ResourceSlice& slice = slices.emplace_back();
    slice.metadata.name = fmt::format("{}-{}", node, dra.driver);
    slice.metadata.ownerReferences = {
        {.apiVersion = "v1", .kind = "Node", .name = node, .uid = uid, .controller = true}};
    slice.spec.driver = dra.driver;
    slice.spec.pool = {node, 1, 1};
    slice.spec.nodeName = node;
    for (int i = 0; i < dra.count; ++i) slice.spec.devices.push_back(deviceOf(shape, dra, node, i));
  }
  return slices;
}

std::vector<api::DeviceClass> deviceClassesOf(const SimNodeShape& shape) {
  std::vector<api::DeviceClass> classes;
  for (const auto& dra : shape.dra) {
    api::DeviceClass& deviceClass = classes.emplace_back();
    deviceClass.metadata.name = dra.driver;
    deviceClass.spec.selectors = {
        {api::CELDeviceSelector{fmt::format("device.driver == \"{}\"", dra.driver)}}};
    deviceClass.spec.extendedResourceName = dra.extendedResource;
  }
  return classes;
}

}  // namespace koord::cluster
