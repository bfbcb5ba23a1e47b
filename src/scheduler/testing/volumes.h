#pragma once

// Builders of claims, volumes and storage classes for tests.

#include <memory>
#include <string>

#include "api/storage.h"
#include "scheduler/testing/builders.h"

namespace koord::scheduler::testing {

// 1 GiB, ReadWriteOnce, of class "fast".
class ClaimBuilder {
 public:
  explicit ClaimBuilder(std::string name) {
    claim_.metadata.name = std::move(name);
    claim_.metadata.namespace_ = "default";
    claim_.metadata.uid = "uid-" + claim_.metadata.name;
    claim_.metadata.resourceVersion = "1";
    claim_.spec.accessModes = {"ReadWriteOnce"};
    claim_.spec.storageClassName = "fast";
    size("1Gi");
  }
  ClaimBuilder& size(std::string_view amount) {
    claim_.spec.resources.requests["storage"] = quantity(amount);
    return *this;
  }
  ClaimBuilder& mode(std::string mode) {
    claim_.spec.accessModes = {std::move(mode)};
    return *this;
  }
  ClaimBuilder& bound(std::string volume) {
    claim_.spec.volumeName = std::move(volume);
    return annotation("pv.kubernetes.io/bind-completed", "yes");
  }
  ClaimBuilder& annotation(const std::string& key, std::string value) {
    claim_.metadata.annotations[key] = std::move(value);
    return *this;
  }
  ClaimBuilder& version(std::string resourceVersion) {
    claim_.metadata.resourceVersion = std::move(resourceVersion);
    return *this;
  }
  api::PersistentVolumeClaim& object() { return claim_; }
  std::shared_ptr<const api::PersistentVolumeClaim> build() const {
    return std::make_shared<const api::PersistentVolumeClaim>(claim_);
  }

 private:
  api::PersistentVolumeClaim claim_;
};

// 1 GiB, ReadWriteOnce, of class "fast", available, usable everywhere.
class VolumeBuilder {
 public:
  explicit VolumeBuilder(std::string name) {
    volume_.metadata.name = std::move(name);
    volume_.metadata.resourceVersion = "1";
    volume_.spec.accessModes = {"ReadWriteOnce"};
    volume_.spec.storageClassName = "fast";
    volume_.status.phase = "Available";
    size("1Gi");
  }
  VolumeBuilder& size(std::string_view amount) {
    volume_.spec.capacity["storage"] = quantity(amount);
    return *this;
  }
  // Usable where the label has this value.
  VolumeBuilder& where(std::string key, std::string value) {
    auto& required = volume_.spec.nodeAffinity.emplace().required.emplace();
    required.nodeSelectorTerms.push_back({{{std::move(key), "In", {std::move(value)}}}, {}});
    return *this;
  }
  VolumeBuilder& label(const std::string& key, std::string value) {
    volume_.metadata.labels[key] = std::move(value);
    return *this;
  }
  VolumeBuilder& reserved(std::string claim) {
    auto& reference = volume_.spec.claimRef.emplace();
    reference.namespace_ = "default";
    reference.name = std::move(claim);
    return *this;
  }
  VolumeBuilder& csi(std::string driver, std::string handle) {
    volume_.spec.csi = api::CSIPersistentVolumeSource{std::move(driver), std::move(handle)};
    return *this;
  }
  api::PersistentVolume& object() { return volume_; }
  std::shared_ptr<const api::PersistentVolume> build() const {
    return std::make_shared<const api::PersistentVolume>(volume_);
  }

 private:
  api::PersistentVolume volume_;
};

inline ClaimBuilder aClaim(std::string name) {
  return ClaimBuilder(std::move(name));
}
inline VolumeBuilder aVolume(std::string name) {
  return VolumeBuilder(std::move(name));
}
inline std::shared_ptr<api::StorageClass> aClass(std::string name, std::string mode,
                                                 std::string provisioner) {
  auto object = std::make_shared<api::StorageClass>();
  object->metadata.name = std::move(name);
  object->volumeBindingMode = std::move(mode);
  object->provisioner = std::move(provisioner);
  return object;
}

}  // namespace koord::scheduler::testing
