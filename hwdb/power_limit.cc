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

}  // namespace

double sustained_share(const PowerLimited& card) {
  const auto* full = std::ranges::find(kUnthrottled, card.architecture, &Unthrottled::architecture);
  const double clocks = card.sms * card.boost_clock.value / 1e9;
  if (full == std::end(kUnthrottled) || !(clocks > 0)) return 1;
  const double share = card.tdp.value / clocks / full->density();
  // To a hundredth: boards' figures say no more.
  return std::min(1.0, std::round(100 * std::pow(share, 1 / kPowerOfClock)) / 100);
}

}  // namespace plimsoll
