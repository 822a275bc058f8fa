#include "estimator/kernels/layout_conversion.h"

#include <doctest/doctest.h>

namespace plimsoll {
namespace {

ConvShape shape(double filter, double stride) {
  ConvShape s{.n = 32, .c = 64, .k = 64};
  s.in = {1, 56, 56};
  s.out = {1, 56 / stride, 56 / stride};
  s.filter = {1, filter, filter};
  s.stride = {1, stride, stride};
  s.element_bytes = 2;
  return s;
}

double turned(const ConvShape& s, Layout layout, bool tensor, int cudnn,
              double bandwidth = 3.352e12) {
  DeviceRates card;
  card.sms = 132;
  card.clock = 1.98e9;
  card.bandwidth = bandwidth;
  return layout_conversion_seconds(s, layout, tensor, cudnn, card);
}

TEST_CASE("what comes in the unit's own layout is not turned around") {
  CHECK(turned(shape(3, 1), Layout::kChannelsLast, true, 919) == 0);
  CHECK(turned(shape(3, 1), Layout::kChannelsFirst, false, 919) == 0);
  CHECK(turned(shape(3, 1), Layout::kNative, true, 919) == 0);
  CHECK(turned(shape(3, 1), Layout::kChannelsFirst, true, 919) > 0);
}

// H100, cuDNN 9.19: 1x1 without stride takes the same time in both layouts.
TEST_CASE("tensor cores multiply filters of one tap in either layout, from cuDNN 9 on") {
  CHECK(turned(shape(1, 1), Layout::kChannelsFirst, true, 919) == 0);
  CHECK(turned(shape(1, 2), Layout::kChannelsFirst, true, 919) > 0);
  CHECK(turned(shape(1, 1), Layout::kChannelsFirst, true, 706) > 0);
  ConvShape whole = shape(1, 1);
  whole.element_bytes = 4;
  CHECK(turned(whole, Layout::kChannelsFirst, true, 805) == 0);
  CHECK(turned(shape(1, 1), Layout::kChannelsFirst, true, 805) > 0);
}

// 128 channels of 56x56, 3x3 to 256 filters, 16 bits: with channels first they took 79.6 us longer
// for 32 images, 40.0 for 16 (measured/conv.csv).
TEST_CASE("copies take what was measured on H100") {
  ConvShape s = shape(3, 1);
  s.c = 128;
  s.k = 256;
  CHECK(turned(s, Layout::kChannelsFirst, true, 919) == doctest::Approx(79.6e-6).epsilon(.25));
  s.n = 16;
  CHECK(turned(s, Layout::kChannelsFirst, true, 919) == doctest::Approx(40e-6).epsilon(.25));
}

TEST_CASE("copies before cuDNN 9 take nine tenths of the bandwidth") {
  const ConvShape s = shape(3, 1);
  const double bytes = 2.0 * 2 * 2 * 32 * 64 * 56 * 56;
  CHECK(turned(s, Layout::kChannelsFirst, true, 803, 936e9) ==
        doctest::Approx(bytes / (.92 * 936e9)));
}

// An H200 has 1.43 times the bandwidth: VGG-16's copies are 1.25 times as fast in 32 bits, 1.08 in
// 16 (h200-networks.json beside h100-networks.json).
TEST_CASE("copies of 16 bits are bound by their elements, not by memory") {
  const auto faster = [](double bytes) {
    ConvShape s = shape(3, 1);
    s.n = 128;
    s.element_bytes = bytes;
    return turned(s, Layout::kChannelsFirst, true, 919) /
           turned(s, Layout::kChannelsFirst, true, 919, 4.8e12);
  };
  CHECK(faster(2) == 1);
  CHECK(faster(4) == doctest::Approx(1.25).epsilon(.1));
}

}  // namespace
}  // namespace plimsoll
