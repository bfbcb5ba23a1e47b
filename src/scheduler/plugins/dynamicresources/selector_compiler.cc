#include "scheduler/plugins/dynamicresources/selector_compiler.h"

#include "model/dra_cel.h"

namespace koord::scheduler {

namespace {

class CelSelector final : public dra::CompiledSelector {
 public:
  explicit CelSelector(model::DeviceExpression expression) : expression_(std::move(expression)) {}
  Result<bool> matches(const dra::DeviceContent& device) const override {
    auto answer = expression_.matches(device.driver, device.attributes, device.capacity,
                                      device.allowMultipleAllocations);
    if (!answer && answer.error().message.find("no such key:") != std::string::npos)
      answer.error().message +=
          ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check "
          "with has() for optional fields";
    return answer;
  }

 private:
  model::DeviceExpression expression_;
};

class CelCompiler final : public dra::SelectorCompiler {
 public:
  Result<std::shared_ptr<const dra::CompiledSelector>> compile(
      const std::string& expression) override {
    auto compiled = model::DeviceExpression::compile(expression);
    if (!compiled) return fail(std::move(compiled.error()));
    return std::make_shared<const CelSelector>(*std::move(compiled));
  }
};

}  // namespace

dra::SelectorCompiler& celSelectors() {
  static CelCompiler compiler;
  return compiler;
}

}  // namespace koord::scheduler
