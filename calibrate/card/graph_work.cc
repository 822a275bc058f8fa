#include "calibrate/card/graph_work.h"

#include <fmt/format.h>

#include "calibrate/cudnn/plan_list.h"

namespace plimsoll::calibrate {
namespace {

class GraphWork : public Work {
 public:
  GraphWork(const CudnnHandle& cudnn, OperationGraph graph, std::string_view name)
      : cudnn_(cudnn), graph_(std::move(graph)) {
    PlanList list = list_plans(cudnn.graph(), graph_, {.device = nullptr, .handle = cudnn.raw()});
    if (list.plans.empty()) throw CardFault("E724", list.error);
    for (ListedPlan& listed : list.plans) {
      offers_.push_back({.algorithm = fmt::format("{}_{}", name, listed.plan.engine),
                         .workspace_bytes = listed.plan.bytes,
                         .plan = std::move(listed.plan)});
      plans_.push_back(std::move(listed.descriptor));
    }
    for (const auto& operand : graph_.operands()) ids_.push_back(operand.id);
    for (const auto& scalar : graph_.scalars()) ids_.push_back(scalar.id);
  }

  const std::vector<Offer>& offers() const override { return offers_; }
  std::vector<int64_t> operand_bytes() const override {
    std::vector<int64_t> bytes;
    for (const auto& operand : graph_.operands()) bytes.push_back(operand.bytes);
    return bytes;
  }
  void launch(size_t offer, std::span<const DeviceMemory> operands,
              const DeviceMemory& workspace) override {
    std::vector<void*> addresses;
    for (const DeviceMemory& operand : operands) addresses.push_back(operand.pointer());
    for (const auto& scalar : graph_.scalars())
      addresses.push_back(const_cast<float*>(&scalar.value));  // it is read alone
    cudnn_.execute(plans_[offer], ids_, addresses, workspace);
  }

 private:
  CudnnHandle cudnn_;
  OperationGraph graph_;
  std::vector<Offer> offers_;
  std::vector<Descriptor> plans_;
  std::vector<int64_t> ids_;
};

}  // namespace

std::unique_ptr<Work> graph_work(const CudnnHandle& cudnn, const MakeGraph& make,
                                 std::string_view name) {
  if (!cudnn.graph().create) throw CardFault("E724", "cuDNN before 8 has no graphs");
  try {
    return std::make_unique<GraphWork>(cudnn, make(cudnn.graph(), cudnn.raw()), name);
  } catch (const CudnnRefusal& refusal) {
    throw CardFault("E724", fmt::format("cuDNN: {}", refusal.what()));
  }
}

}  // namespace plimsoll::calibrate
