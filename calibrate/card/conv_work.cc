#include "calibrate/card/conv_work.h"

#include <fmt/format.h>

#include "calibrate/cudnn/plan_list.h"

namespace plimsoll::calibrate {

struct CudnnHandle::Functions {
  CudnnFunctions graph;
  decltype(::cudnnCreate)* create;
  decltype(::cudnnSetStream)* set_stream;
  decltype(::cudnnBackendExecute)* execute;
  cudnnHandle_t handle;
};

namespace {

int64_t elements(std::initializer_list<int64_t> extents) {
  int64_t product = 1;
  for (const int64_t extent : extents) product *= extent;
  return product;
}

class ConvWork : public Work {
 public:
  ConvWork(std::shared_ptr<const CudnnHandle::Functions> call, const ConvQuestion& question)
      : call_(std::move(call)), question_(question) {
    PlanList list =
        list_plans(call_->graph, question, {.device = nullptr, .handle = call_->handle});
    if (list.plans.empty()) throw CardFault("E724", list.error);
    for (ListedPlan& listed : list.plans) {
      offers_.push_back(
          {algorithm_of(listed.plan, question.pass), listed.plan.bytes, std::move(listed.plan)});
      plans_.push_back(std::move(listed.descriptor));
    }
  }

  const std::vector<Offer>& offers() const override { return offers_; }
  std::vector<int64_t> operand_bytes() const override {
    const ConvProblem<int64_t>& c = question_.problem;
    const int64_t element = bits(question_.dtype) / 8;
    return {element * elements({c.n, c.c, c.in[1], c.in[2]}),
            element * elements({c.k, c.c / c.groups, c.filter[1], c.filter[2]}),
            element * elements({c.n, c.k, c.out[1], c.out[2]})};
  }
  void launch(size_t offer, std::span<const DeviceMemory> operands,
              const DeviceMemory& workspace) override {
    try {
      Descriptor pack(call_->graph, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
      pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
               std::vector<void*>{operands[0].pointer(), operands[1].pointer(),
                                  operands[2].pointer()})
          .set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, {'x', 'w', 'y'})
          .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
               std::vector<void*>{workspace.pointer()})
          .finalize("the operands");
      call_->graph.check(call_->execute(call_->handle, plans_[offer].raw(), pack.raw()), "execute");
    } catch (const CudnnRefusal& refusal) {
      throw CardFault("E722", fmt::format("cuDNN: {}", refusal.what()));
    }
  }

 private:
  std::shared_ptr<const CudnnHandle::Functions> call_;
  ConvQuestion question_;
  std::vector<Offer> offers_;
  std::vector<Descriptor> plans_;
};

}  // namespace

Result<CudnnHandle> CudnnHandle::make(const SharedLibrary& library, const CudnnFunctions& functions,
                                      const Driver& driver) {
  const auto create = library.function<decltype(::cudnnCreate)>("cudnnCreate");
  if (!create) return tl::make_unexpected(create.error());
  const auto set_stream = library.function<decltype(::cudnnSetStream)>("cudnnSetStream");
  if (!set_stream) return tl::make_unexpected(set_stream.error());
  const auto execute = library.function<decltype(::cudnnBackendExecute)>("cudnnBackendExecute");
  if (!execute) return tl::make_unexpected(execute.error());
  auto call = std::make_shared<Functions>(Functions{functions, *create, *set_stream, *execute, {}});
  cudnnStatus_t status = call->create(&call->handle);
  if (status == CUDNN_STATUS_SUCCESS)
    status = call->set_stream(call->handle, reinterpret_cast<cudaStream_t>(driver.stream()));
  if (status != CUDNN_STATUS_SUCCESS)
    return error("E722", fmt::format("cuDNN makes no handle: status {}", static_cast<int>(status)));
  return CudnnHandle(std::move(call));
}

std::unique_ptr<Work> CudnnHandle::convolution(const ConvQuestion& question) const {
  return std::make_unique<ConvWork>(call_, question);
}

}  // namespace plimsoll::calibrate
