#include "estimator/step/distinct_kernels.h"

#include <optional>
#include <utility>

namespace plimsoll {

std::vector<size_t> DistinctKernels::add(const Step& step) {
  std::vector<size_t> numbers;
  numbers.reserve(step.kernels.size());
  for (const Kernel& kernel : step.kernels) {
    const auto [known, is_new] = numbers_.try_emplace(&kernel, kernels_.size());
    if (is_new) append(kernel);
    numbers.push_back(known->second);
  }
  return numbers;
}

void DistinctKernels::append(const Kernel& kernel) {
  Distinct& distinct = kernels_.emplace_back();
  distinct.kernel = &kernel;
  bind_into(distinct.bound, kernel, [&](int64_t& value, const Dim& count) {
    if (const auto constant = count.constant()) {
      value = *constant;
    } else {
      distinct.counts.push_back({tape_.add(count), &value});
    }
  });
}

Result<void> DistinctKernels::at(std::span<const Binding> points,
                                 const std::function<void(std::span<const KernelAt>)>& use) {
  if (!tape_.run(points)) return tl::make_unexpected(failure_at(points));
  std::vector<KernelAt> at(points.size());
  for (Distinct& kernel : kernels_) {
    for (size_t p = 0; p < points.size(); ++p) {
      for (const Count& count : kernel.counts) *count.place = tape_[count.slot][p];
      at[p] = kernel.bound;
    }
    use(at);
  }
  return {};
}

Diagnostics DistinctKernels::failure_at(std::span<const Binding> points) const {
  for (const Binding& point : points) {
    DimEvaluator evaluate(point);
    for (const Distinct& distinct : kernels_) {
      std::optional<Diagnostics> failure;
      KernelAt bound;
      bind_into(bound, *distinct.kernel, [&](int64_t&, const Dim& count) {
        auto known = evaluate(count);
        if (!known && !failure) failure = std::move(known.error());
      });
      if (failure) return *std::move(failure);
    }
  }
  return {};
}

}  // namespace plimsoll
