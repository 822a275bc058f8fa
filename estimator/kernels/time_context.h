// What is prepared once per card, calibration and options to price kernels: kernel_time.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "estimator/kernels/device_rates.h"
#include "estimator/kernels/time_options.h"
#include "hwdb/calibration.h"

namespace plimsoll {

struct ClassModel;  // estimator/kernels/time_model.h
struct ConvOffers;  // estimator/library/conv_choice.h

// Each class of kernels when it is first
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

  // The same card and habits for kernels that are timed one by one: see TimeOptions::alone.
  TimeContext alone() const;
  // ... that are run another way. Prepared models are shared.
  TimeContext with(TimeOptions options, std::shared_ptr<const ConvOffers> offers) const;

  const DeviceRates& rates() const { return rates_; }
  const TimeOptions& options() const { return options_; }
  const std::shared_ptr<const ConvOffers>& offers() const { return offers_; }
  // Provenance, one sentence each: "convolutions in f32: model fitted to 332 kernels measured on
  // titan-xp, gtx-1080-ti with library 6.0; cross-validated error 13 %", and where these are
  // another card or generation of the library: "; applied to CARD in f32 with library 9.10".
  // `basis` is a KernelTime's.
  const std::string& basis(int basis) const;

  // Of one class of kernels in one arithmetic.
  const ClassModel& gemm(Arithmetic a) const { return model(Class::kGemm, a); }
  const ClassModel& conv(Arithmetic a) const { return model(Class::kConv, a); }
  // ... whose channels are no multiples of four, where such were measured.
  const ClassModel& odd_conv(Arithmetic a) const { return model(Class::kOddConv, a); }
  // Of all arithmetics; nothing where convolutions come from a card without such kernels.
  const ClassModel& depthwise() const { return model(Class::kDepthwise, Arithmetic::kF32); }
  // ... and of several groups.
  const ClassModel& grouped(Arithmetic a) const { return model(Class::kGrouped, a); }
  const ClassModel& recurrent(Arithmetic a) const { return model(Class::kRecurrent, a); }
  const ClassModel& persistent(Arithmetic a) const { return model(Class::kPersistent, a); }
  const ClassModel& rows() const { return model(Class::kRows, Arithmetic::kF32); }

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
  const ClassModel& model(Class of, Arithmetic arithmetic) const;
  void prepare(Slot& slot, Class of, Arithmetic arithmetic) const;
  void add_machine(Slot& slot) const;
  struct SmRate sm_rate(const Fit& fit, Arithmetic arithmetic) const;

  DeviceRates rates_;
  TimeOptions options_;
  std::shared_ptr<const ConvOffers> offers_;
  Calibrations calibrations_;
  std::shared_ptr<Slots> slots_;  // of contexts that differ in what is asked alone
};

}  // namespace plimsoll
