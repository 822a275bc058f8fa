#include "calibrate/card/cudnn_work.h"
#include "calibrate/cudnn/plan_list.h"

namespace plimsoll::calibrate {
namespace {

int64_t elements(std::initializer_list<int64_t> extents) {
  int64_t product = 1;
  for (const int64_t extent : extents) product *= extent;
  return product;
}

class ConvWork : public Work {
 public:
  ConvWork(const CudnnHandle& cudnn, const ConvQuestion& question)
      : cudnn_(cudnn), question_(question) {
    PlanList list = list_plans(cudnn.graph(), question, {.device = nullptr, .handle = cudnn.raw()});
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
    cudnn_.execute(plans_[offer], {'x', 'w', 'y'},
                   {operands[0].pointer(), operands[1].pointer(), operands[2].pointer()},
                   workspace);
  }

 private:
  CudnnHandle cudnn_;
  ConvQuestion question_;
  std::vector<Offer> offers_;
  std::vector<Descriptor> plans_;
};

}  // namespace

std::unique_ptr<Work> conv_work(const CudnnHandle& cudnn, const ConvQuestion& question) {
  return std::make_unique<ConvWork>(cudnn, question);
}

}  // namespace plimsoll::calibrate
