#include "hwdb/power_limit.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace plimsoll {
namespace {

// A card that keeps its boost clock, by the figures of its device file.
struct Unthrottled {
  std::string_view architecture;
  double watts, sms, ghz;

  double density() const { return watts / (sms * ghz); }
};

// Of the cards whose measured steps are as long as predicted at their boost clock, the one with the
// fewest watts for each multiprocessor and GHz.
constexpr Unthrottled kUnthrottled[] = {
    {"pascal-gp10x", 250, 30, 1.645},      // Quadro P6000
    {"pascal-gp100", 250, 56, 1.303},      // Tesla P100 PCIe
    {"volta", 250, 80, 1.455},             // TITAN V
    {"turing", 250, 68, 1.545},            // RTX 2080 Ti
    {"ampere-ga100", 400, 108, 1.410},     // A100 SXM
    {"ampere-ga10x", 350, 82, 1.695},      // RTX 3090
    {"ada", 450, 128, 2.520},              // RTX 4090
    {"hopper", 700, 132, 1.980},           // H100 SXM
    {"blackwell-gb20x", 575, 170, 2.407},  // RTX 5090
};

constexpr double kPowerOfClock = 2;

struct TensorClock {
  std::string_view architecture;
  double share;
};

// The clock for which NVIDIA gives the peak of the tensor cores, of the boost clock: of an H100 SXM
// its whitepaper (1830 of 1980 MHz), of an A100 SXM the list of the TOP500 (1305 of 1410 MHz:
// glennklockwood.com/garden/peak-FLOPS). At its power limit an A100 multiplies random matrices of
// 8192 x 8192 in 16 bits at 257 TFLOP/s, matrices of zeros at 295 (thonking.ai, "Strangely, Matrix
// Multiplications on GPUs Run Faster When Given Predictable Data").
constexpr TensorClock kTensorClocks[] = {{"ampere-ga100", 1305. / 1410}, {"hopper", 1830. / 1980}};

}  // namespace

double sustained_share(const PowerLimited& card) {
  const auto* full = std::ranges::find(kUnthrottled, card.architecture, &Unthrottled::architecture);
  const double clocks = card.sms * card.boost_clock.value / 1e9;
  if (full == std::end(kUnthrottled) || !(clocks > 0)) return 1;
  const double share = card.tdp.value / clocks / full->density();
  // To a hundredth: boards' figures say no more.
  return std::min(1.0, std::round(100 * std::pow(share, 1 / kPowerOfClock)) / 100);
}

double tensor_share(std::string_view architecture) {
  const auto* row = std::ranges::find(kTensorClocks, architecture, &TensorClock::architecture);
  return row == std::end(kTensorClocks) ? 1 : row->share;
}

}  // namespace plimsoll
