// What a card's power limit leaves of its clock under seconds of compute-bound work, where nobody
// measured it: a rule from its TDP, its multiprocessors and its printed boost clock.
#pragma once

#include <string_view>

#include "graph/base/units.h"

namespace plimsoll {

// Share of the boost clock, at most 1. The watts that a card has for each multiprocessor and GHz
// are compared with those of a card of its architecture that keeps its boost clock in steps that
// were measured; 1 for architectures of which no such card is known. Power goes with clock *
// voltage^2, and voltage with the clock where it is high and with nothing where it is low: with the
// clock's first to third power, taken to be its second.
struct PowerLimited {
  std::string_view architecture;  // as Device::architecture
  Watts tdp;
  double sms = 0;
  Hertz boost_clock;
};
double sustained_share(const PowerLimited& card);

// Share of that clock which a card keeps while its tensor cores multiply, at most 1: by what its
// maker rates them at; 1 for architectures of which none is known.
double tensor_share(std::string_view architecture);

}  // namespace plimsoll
