// A card of the tests' own: times by a law, faults where a test wants them.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "calibrate/card.h"
#include "calibrate/kernel_record.h"

namespace plimsoll::test {

inline KernelAt conv_kernel(int64_t n, Pass pass = Pass::kForward, bool tensor_core = false) {
  KernelAt kernel;
  kernel.kernel_class = KernelClass::kConv;
  kernel.op = "conv";
  kernel.pass = pass;
  kernel.tensor_core = tensor_core;
  ConvProblem<int64_t> p{.n = n, .c = 8, .k = 16};
  p.in = p.out = {1, 14, 14};
  p.filter = {1, 3, 3};
  p.pad = {0, 1, 1};
  const int64_t x = n * 8 * 14 * 14 * 4, w = 16 * 8 * 9 * 4, y = n * 16 * 14 * 14 * 4;
  kernel.flop = 2 * n * 16 * 14 * 14 * 8 * 9;
  kernel.written = pass == Pass::kForward ? y : pass == Pass::kBackwardData ? x : w;
  kernel.read = x + w + y - kernel.written;
  kernel.problem = p;
  return kernel;
}

inline KernelAt rows_kernel(std::string op, int64_t rows, int64_t columns, int64_t read_tensors) {
  KernelAt kernel;
  kernel.op = std::move(op);
  kernel.flop = rows * columns;
  kernel.read = read_tensors * 4 * rows * columns;
  kernel.written = 4 * rows * columns;
  kernel.problem = RowsProblem<int64_t>{.rows = rows, .columns = columns};
  return kernel;
}

class FakeCard : public calibrate::Card {
 public:
  FakeCard() {
    facts_ = {.name = "NVIDIA H100 80GB HBM3",
              .driver = "580.1",
              .source = "",
              .compute_capability = {9, 0},
              .memory_bytes = int64_t{80} << 30,
              .free_bytes = int64_t{79} << 30,
              .libraries = {{"cuDNN", "9.10.2", "lib/libcudnn.so.9"}}};
  }

  // Of convolutions: in order TF32 on tensor cores, Winograd with a workspace, and none.
  static std::vector<calibrate::Offer> usual_offers(const KernelAt& kernel) {
    if (kernel.kernel_class != KernelClass::kConv)
      return {{.algorithm = "move", .workspace_bytes = 0, .plan = {}}};
    const auto offer = [](std::string algorithm, AskedPlan plan) {
      return calibrate::Offer{std::move(algorithm), plan.bytes, plan};
    };
    return {offer("tensor", {.engine = 7, .bytes = 100, .notes = {"tensor_core"}, .knobs = {}}),
            offer("winograd", {.engine = 5, .bytes = 5000, .notes = {"winograd"}, .knobs = {}}),
            offer("implicit_gemm", {.engine = 1, .bytes = 0, .notes = {}, .knobs = {{"TILE", 2}}})};
  }
  // Half as fast with each further offer.
  static double seconds(const KernelAt& kernel, size_t offer) {
    return (1e-6 + static_cast<double>(kernel.read + kernel.written) / 1e12) *
           static_cast<double>(1 + offer);
  }

  const calibrate::CardFacts& facts() const override { return facts_; }
  Result<std::vector<calibrate::Offer>> offers(const KernelAt& kernel) override {
    if (unknown && unknown(kernel)) return error("E724", "no library runs it");
    return usual_offers(kernel);
  }
  Result<std::vector<calibrate::Sample>> time(const KernelAt& kernel, size_t offer) override {
    ++timed;
    if (fault) {
      if (auto failed = fault(kernel, offer); !failed) return tl::make_unexpected(failed.error());
    }
    std::vector<calibrate::Sample> samples;
    for (int i = 0; i < 5; ++i) {
      calibrate::Sample sample{.seconds = seconds(kernel, offer) * (1 + .01 * i), .state = {}};
      sample.state.sm_clock_hz = clock ? clock(timed, i) : 1.98e9;
      samples.push_back(std::move(sample));
    }
    return samples;
  }
  Result<std::vector<calibrate::Figure>> figures() override {
    return std::vector<calibrate::Figure>{{"pinned_copy", "B/s", 5e10},
                                          {"launch", "s", 2e-6},
                                          {"host_cores", "cores", 24},
                                          {"context_bytes", "B", double(300 << 20)},
                                          {"cudnn_handle_bytes", "B", double(20 << 20)}};
  }

  std::function<bool(const KernelAt&)> unknown;
  std::function<Result<void>(const KernelAt&, size_t offer)> fault;
  std::function<double(int call, int sample)> clock;
  int timed = 0;  // calls

 private:
  calibrate::CardFacts facts_;
};

}  // namespace plimsoll::test
