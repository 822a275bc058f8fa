// Which calibration speaks for a card: its own architecture's where there is one, else that of the
// nearest relative, and the fit of the nearest library version. What was carried over is said.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "estimator/kernels/device_rates.h"
#include "hwdb/calibration.h"

namespace plimsoll {

// How near to a question the measurements are that answer it.
enum class Evidence : uint8_t {
  kCard,          // kernels of this very card, library generation and arithmetic
  kArchitecture,  // of another card of its architecture, or another generation of the library
  kOther,         // of another architecture or arithmetic, or none
};

std::string_view name(Evidence evidence);  // "card", "architecture", "other"

struct SelectedFit {
  const Fit* fit = nullptr;  // null: nothing applies
  bool own = false;          // this architecture, arithmetic and library
  Evidence evidence = Evidence::kOther;
  double widen = 0;   // added to the ln range
  std::string basis;  // one sentence of provenance
};

// `library` as in Fit, 0 for the newest. `odd_shapes`: of convolutions, as in Fit.
SelectedFit select_fit(const Calibrations& calibrations, std::string_view kernel_class,
                       Arithmetic arithmetic, const DeviceRates& rates, int library,
                       bool odd_shapes = false);

// Version texts as records and profiles give them ("6.0.21", "5 (major only given)", "R3-rc1") as
// 100 * major + minor; 0 where there is no number. cuBLAS 8.0.88, the patch release that learnt to
// split k, counts as 8.1.
int library_version(std::string_view text);

}  // namespace plimsoll
