// kernel_time: how long one kernel takes on one card. The one function that estimates and fits use.
//
//   TimeContext context(rates, Calibrations::shipped(), {.library = {.cudnn = 605, .cublas =
//   800}}); KernelTime t = kernel_time(kernel, context);   // t.seconds, t.algorithm, t.low ..
//   t.high
//
// Law: seconds >= max(flop really done / peak at the highest clock, compulsory bytes / bandwidth).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/time/algorithm_policy.h"
#include "estimator/time/conv_algorithms.h"
#include "estimator/time/depthwise.h"
#include "estimator/time/device_rates.h"
#include "estimator/time/gemm.h"
#include "estimator/time/grouped.h"
#include "estimator/time/memory_bound.h"
#include "estimator/time/persistent.h"
#include "estimator/time/recurrent.h"
#include "estimator/time/recurrent_algorithm.h"
#include "estimator/time/select_fit.h"
#include "graph/kernel.h"
#include "hwdb/calibration.h"
#include "hwdb/machine.h"

namespace plimsoll {

// A recurrent layer that no library call runs.
bool is_unrolled(const KernelAt& kernel);

struct Libraries {
  int cudnn = 0, cublas = 0;  // 100 * major + minor; 0: the newest with measurements
};

// How a framework keeps images. Ordinary cores convolve channels first, tensor cores channels last:
// what comes the other way is turned around before and after the convolution.
enum class Layout : uint8_t { kNative, kChannelsFirst, kChannelsLast };

struct TimeOptions {
  Libraries library{};
  AlgorithmPolicy policy = AlgorithmPolicy::kAutotune;
  ConvAlgorithm forced = ConvAlgorithm::kPrecomputedGemm;
  std::optional<int64_t> workspace_limit{};  // bytes
  // The compute capability from which on the library is asked for convolutions of bf16.
  int bf16_library_since = 0;
  // A kernel in a queue hides part of its launch. True: timed alone by the host, as benchmarks do.
  bool alone = false;
  Layout layout = Layout::kNative;
  // Batch norm as Caffe's own sequence of kernels instead of the library's.
  bool separate_batch_norm = false;
  // Batch norm in cuDNN's persistent mode, where the card has it.
  bool persistent_norm = false;
  RecurrentHabits recurrent{};
  // A framework's own forward batch norm and concatenation, times the library's traffic.
  double norm_factor = 1, concat_factor = 1;
  double max_pool_backward = 1;             // the same for the gradient of max pooling
  double bias_factor = 1, relu_factor = 1;  // and for both forward
  std::vector<MachineFactor> machine{};     // of the user's own card
};

enum class BoundBy : uint8_t { kCompute, kDram, kLatency, kHost };
std::string_view name(BoundBy bound_by);

struct KernelTime {
  double seconds = 0;
  double low = 0, high = 0;    // seconds; 90 of 100 measured kernels lie between
  std::string_view algorithm;  // "WINOGRAD", "128x64 split 4"; empty for memory-bound work
  double flop = 0;             // really done, in the mathematics of the algorithm
  double bytes = 0;            // device memory traffic
  double workspace = 0;        // bytes the algorithm needs
  BoundBy bound_by = BoundBy::kCompute;
  double fraction_of_peak = 0;  // of the resource it is bound by; latency: of compute
  int basis = 0;                // for TimeContext::basis()
  int64_t launches = 1;         // by the host, one by one; 0: their time is in `seconds`
  bool operator==(const KernelTime&) const = default;
};

struct ConvOffers;  // estimator/time/conv_choice.h

// What is prepared once per card, calibration and options, each class of kernels when it is first
// asked for. Share it between threads.
class TimeContext {
 public:
  // Where no calibration applies to a class, the plain roofline does.
  // Without offers a convolution takes the algorithm that is shortest in theory.
  TimeContext(DeviceRates rates, Calibrations calibrations, TimeOptions options = {},
              std::shared_ptr<const ConvOffers> offers = nullptr);
  ~TimeContext();
  TimeContext(TimeContext&&) noexcept;
  TimeContext& operator=(TimeContext&&) noexcept;

  const DeviceRates& rates() const { return rates_; }
  const TimeOptions& options() const { return options_; }
  const ConvOffers* offers() const { return offers_.get(); }
  // Provenance, one sentence each: "calibrated: sm_61 f32 conv, library 6.0, 332 measured kernels,
  // error left out 11 %" for that very card, library generation and passes, else "carried over to
  // CARD ... from ...", "uncalibrated: roofline of datasheet figures".
  // `basis` is a KernelTime's.
  const std::string& basis(int basis) const;

  struct Model;  // one class of kernels in one arithmetic
  const Model& gemm(Arithmetic a) const { return model(Class::kGemm, a); }
  const Model& conv(Arithmetic a) const { return model(Class::kConv, a); }
  // ... whose channels are no multiples of four, where such were measured.
  const Model& odd_conv(Arithmetic a) const { return model(Class::kOddConv, a); }
  // Of all arithmetics; nothing where convolutions come from a card without such kernels.
  const Model& depthwise() const { return model(Class::kDepthwise, Arithmetic::kF32); }
  // ... and of several groups.
  const Model& grouped(Arithmetic a) const { return model(Class::kGrouped, a); }
  const Model& recurrent(Arithmetic a) const { return model(Class::kRecurrent, a); }
  const Model& persistent(Arithmetic a) const { return model(Class::kPersistent, a); }
  const Model& rows() const { return model(Class::kRows, Arithmetic::kF32); }

 private:
  enum class Class : uint8_t {
    kGemm,
    kConv,
    kOddConv,
    kDepthwise,
    kGrouped,
    kRecurrent,
    kPersistent,
    kRows
  };
  static constexpr size_t kClassCount = 8;
  struct Slot;
  struct Slots;
  const Model& model(Class of, Arithmetic arithmetic) const;
  void prepare(Slot& slot, Class of, Arithmetic arithmetic) const;
  void add_machine(Slot& slot) const;
  struct SmRate sm_rate(const Fit& fit, Arithmetic arithmetic) const;

  DeviceRates rates_;
  TimeOptions options_;
  std::shared_ptr<const ConvOffers> offers_;
  Calibrations calibrations_;
  std::unique_ptr<Slots> slots_;
};

// Cost: 0.1-2 microseconds once its class is prepared.
KernelTime kernel_time(const KernelAt& kernel, const TimeContext& context);

// What the calibration behind it was measured on.
Evidence evidence_of(const KernelAt& kernel, const TimeContext& context);

// What prices a kernel: its class, as calibrations name it, the arithmetic and how far off its
// predictions are known to be, ln.
struct PricedAs {
  std::string_view kernel_class;
  Arithmetic arithmetic{};
  double range90 = 0;
};
PricedAs priced_as(const KernelAt& kernel, const TimeContext& context);

// Every algorithm that a convolution is offered, fastest first, whatever the policy says; empty for
// other kernels.
std::vector<ConvCost> conv_alternatives(const KernelAt& kernel, const TimeContext& context);

}  // namespace plimsoll
