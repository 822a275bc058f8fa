#include "estimator/bound_step.h"

#include <algorithm>
#include <functional>

namespace plimsoll {
namespace {

// A step with each count given its value by `at`; `before_kernel` is called before each kernel's.
template <class At, class BeforeKernel>
BoundStep bound_by(const Step& step, const At& at, const BeforeKernel& before_kernel) {
  BoundStep bound;
  bound.buffer_bytes.resize(step.buffers.size());
  for (BufferId id = 0; id < step.buffers.size(); ++id)
    at(bound.buffer_bytes[id], step.buffers[id].bytes);
  bound.kernels.resize(step.kernels.size());
  for (KernelId id = 0; id < step.kernels.size(); ++id) {
    before_kernel();
    bind_into(bound.kernels[id], step.kernels[id], std::cref(at));
  }
  return bound;
}

// An extent that a formula makes negative holds nothing.
void keep_positive(std::vector<int64_t>& buffer_bytes) {
  for (int64_t& bytes : buffer_bytes) bytes = std::max<int64_t>(bytes, 0);
}

}  // namespace

Result<BoundStep> bind_step(const Step& step, const Binding& binding) {
  DimEvaluator evaluate(binding);
  std::optional<Diagnostics> failure;
  const auto at = [&](int64_t& value, const Dim& count) {
    auto known = evaluate(count);
    if (known) value = *known;
    if (!known && !failure) failure = std::move(known.error());
  };
  BoundStep bound = bound_by(step, at, [] {});
  if (failure) return tl::make_unexpected(std::move(*failure));
  keep_positive(bound.buffer_bytes);
  return bound;
}

StepBinder::StepBinder(const Step& step) : step_(step) {
  const auto at = [&](int64_t& value, const Dim& count) {
    if (const auto constant = count.constant()) {
      value = *constant;
    } else {
      counts_.push_back({tape_.add(count), &value});
    }
  };
  const auto end_kernel = [&] { first_of_kernel_.push_back(counts_.size()); };
  bound_ = bound_by(step, at, end_kernel);
  end_kernel();
  keep_positive(bound_.buffer_bytes);
}

Result<const BoundStep*> StepBinder::operator()(const Binding& binding) {
  if (!tape_.run(binding)) {
    auto why = bind_step(step_, binding);
    return tl::make_unexpected(std::move(why.error()));
  }
  for (const Count& count : counts_) *count.place = tape_[count.slot];
  keep_positive(bound_.buffer_bytes);
  return &bound_;
}

Result<void> StepBinder::kernels(std::span<const Binding> points,
                                 const std::function<void(std::span<const KernelAt>)>& use) {
  const size_t width = counts_.size();
  std::vector<int64_t> values(points.size() * width);
  for (size_t p = 0; p < points.size(); ++p) {
    const auto bound = (*this)(points[p]);
    if (!bound) return tl::unexpected(bound.error());
    for (size_t i = 0; i < width; ++i) values[p * width + i] = *counts_[i].place;
  }
  std::vector<KernelAt> at(points.size());
  for (KernelId k = 0; k < bound_.kernels.size(); ++k) {
    for (size_t p = 0; p < points.size(); ++p) {
      for (size_t i = first_of_kernel_[k]; i < first_of_kernel_[k + 1]; ++i)
        *counts_[i].place = values[p * width + i];
      at[p] = bound_.kernels[k];
    }
    use(at);
  }
  return {};
}

bool guards_hold(const Step& step, const Binding& binding) {
  DimEvaluator evaluate(binding);
  return std::all_of(step.guards.begin(), step.guards.end(), [&](const Guard& g) {
    const auto value = evaluate(g.expression);
    if (!value) return false;
    const bool holds = g.kind == Guard::Kind::kZero ? *value == 0 : *value >= 0;
    return holds == g.holds;
  });
}

}  // namespace plimsoll
