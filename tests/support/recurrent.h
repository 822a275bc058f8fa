// Recurrent layers as kernels, and the rates of cards.
#pragma once

#include <doctest/doctest.h>

#include <string_view>

#include "estimator/kernels/device_rates.h"
#include "graph/ir/kernel.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

inline DeviceRates card_rates(std::string_view device) {
  static const auto hwdb = Hwdb::open();
  REQUIRE(hwdb.has_value());
  const auto card = hwdb->device(device);
  REQUIRE(card.has_value());
  return rates_of(*card);
}

// Tensor cores are allowed in 16 bits.
inline KernelAt recurrent(const RecurrentProblem<int64_t>& problem, Pass pass, DType dtype) {
  return {.kernel_class = KernelClass::kRecurrent,
          .pass = pass,
          .dtype = dtype,
          .tensor_core = dtype == DType::kFloat16,
          .op = "recurrent",
          .problem = problem};
}

}  // namespace plimsoll
