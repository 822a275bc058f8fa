// Fourier transforms and what speech models put around them.
#include <fmt/format.h>

#include "graph/base/try.h"
#include "graph/ops/data_propagation.h"
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"

namespace plimsoll::ops {
namespace {

// One known whole number in an input. E254.
Result<Dim> number(InferContext& c, size_t input, std::string_view what) {
  const auto value = known(c, input);
  if (!value || value->size() != 1) return unknown_contents(c, input, what);
  return floor_div(value->front().over, value->front().under);
}

// Half a spectrum where it is symmetric.
Dim bins(InferContext& c, const Dim& length, int64_t onesided_default) {
  const bool onesided = c.attributes().integer("onesided", onesided_default) != 0;
  return onesided ? floor_div(length, 2) + 1 : length;
}

Result<void> window(InferContext& c) {
  const auto size = TRY(number(c, 0, "the window's size"));
  const auto dtype = TRY(dtype_attribute(c, "output_datatype", DType::kFloat32));
  c.set(0, dtype, {size});
  return {};
}

Result<void> mel_weights(InferContext& c) {
  const auto mel_bins = TRY(number(c, 0, "the number of mel bins"));
  const auto length = TRY(number(c, 1, "the transform's length"));
  const auto dtype = TRY(dtype_attribute(c, "output_datatype", DType::kFloat32));
  c.set(0, dtype, {floor_div(length, 2) + 1, mel_bins});
  return {};
}

// x [..., 1 or 2] along an axis: an attribute (default 1) in opset 17, input 2 (default -2)
// since 20.
Result<void> dft(InferContext& c) {
  if (auto checked = require_rank(c, 0, 2); !checked) return checked;
  int64_t axis = c.opset() < 20 ? c.attributes().integer("axis", 1) : -2;
  if (c.has(2)) {
    const auto given = c.integers(2);
    if (!given || given->size() != 1) return unknown_contents(c, 2, "the axis");
    axis = given->front();
  }
  const auto at = TRY(c.axis(axis, c.rank(0)));
  Shape shape = c.shape(0);
  if (c.has(1)) {
    const auto length = TRY(number(c, 1, "the transform's length"));
    shape[at] = length;
  }
  const bool inverse = c.attributes().integer("inverse", 0) != 0;
  const bool onesided = c.attributes().integer("onesided", 0) != 0;
  // Half a spectrum of n bins comes from a signal of 2 (n - 1).
  if (inverse && onesided && !c.has(1)) shape[at] = (shape[at] - 1) * Dim(2);
  if (!inverse) shape[at] = bins(c, shape[at], 0);
  shape.back() = inverse && onesided ? 1 : 2;
  c.set(0, c.dtype(0), std::move(shape));
  return {};
}

// signal [batch, length, 1 or 2], step, window, frame length -> [batch, frames, bins, 2]
Result<void> stft(InferContext& c) {
  if (auto checked = require_rank(c, 0, 2, 3); !checked) return checked;
  const auto step = TRY(number(c, 1, "the frame step"));
  Dim length;
  if (c.has(3)) {
    const auto given = TRY(number(c, 3, "the frame length"));
    length = given;
  } else if (c.has(2) && c.rank(2) == 1) {
    length = c.shape(2)[0];
  } else {
    return c.fail("E253", "neither a window nor a frame length");
  }
  const Shape& signal = c.shape(0);
  if (!c.decider().at_most(1, step) || !c.decider().at_most(length, signal[1])) {
    return c.fail("E241", fmt::format("frames of {} every {} from a signal of {}", length.text(),
                                      step.text(), signal[1].text()));
  }
  const Dim frames = floor_div(signal[1] - length, step) + 1;
  c.set(0, c.dtype(0), {signal[0], frames, bins(c, length, 1), 2});
  return {};
}

constexpr OpRow kSignalRows[] = {
    {.name = "BlackmanWindow",
     .since = 17,
     .attributes = "output_datatype periodic",
     .shape = window,
     .lower = lower::create,
     .host_from = 0,
     .example = "i64[]=[10] -> f32[10] | flop 0"},
    {.name = "DFT",
     .since = 17,
     .attributes = "axis inverse onesided",
     .shape = dft,
     .lower = lower::rearrange,
     .example = "f32[B,100,1] _ i64[]=[1] {onesided=1} -> f32[B,51,2] | flop 0 | grads in0"},
    {.name = "HammingWindow",
     .since = 17,
     .attributes = "output_datatype periodic",
     .shape = window,
     .lower = lower::create,
     .host_from = 0,
     .example = "i64[]=[10] -> f32[10] | flop 0"},
    {.name = "HannWindow",
     .since = 17,
     .attributes = "output_datatype periodic",
     .shape = window,
     .lower = lower::create,
     .host_from = 0,
     .example = "i64[]=[10] {output_datatype=11} -> f64[10] | flop 0"},
    {.name = "MelWeightMatrix",
     .since = 17,
     .inputs = 5,
     .attributes = "output_datatype",
     .shape = mel_weights,
     .lower = lower::create,
     .host_from = 0,
     .example =
         "i64[]=[8] i64[]=[16] i64[]=[8192] f32[]=[0.0] f32[]=[4096.0] -> f32[9,8] | flop 0"},
    {.name = "STFT",
     .since = 17,
     .inputs = 2,
     .attributes = "onesided",
     .shape = stft,
     .lower = lower::rearrange,
     .example = "f32[B,128,1] i64[]=[8] f32[16] -> f32[B,15,9,2] | flop 0 | grads in0"},
};

}  // namespace

std::span<const OpRow> signal_rows() { return kSignalRows; }

}  // namespace plimsoll::ops
