#include <algorithm>

#include "graph/eager/autocast.h"
#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

// Channels innermost: the framework keeps such a layout through convolution, norm and pooling, of
// parts of tensors too.
bool channels_last(const Value& x) {
  return !x.contiguous() && x.rank() >= 4 && x.strides()[1] == Dim(1);
}

LayoutRef image_layout(Machine& m, DType dtype, const Shape& sizes, bool last) {
  return last ? channels_last_layout(dtype, sizes, m.decider()) : contiguous_layout(dtype, sizes);
}

// The library takes images in one layout: one that lies otherwise is copied for the call.
Value in_layout(Machine& m, const Value& x, bool last) {
  if (!last || (channels_last(x) && is_dense(x.layout(), m.decider()))) return x;
  auto layout = channels_last_layout(x.dtype(), x.sizes(), m.decider());
  if (layout->contiguous) return x;
  Value y = m.allocate(std::move(layout));
  m.launch_rows(KernelClass::kCopy, "layout", 0, {&x}, {&y});
  return y;
}

// The convolution as a problem. A transposed one is the convolution whose data gradient it is.
ConvProblem<Dim> problem_of(const Value& x, const Value& weight, const Convolution& c,
                            const Shape& out, bool last) {
  const size_t spatial = x.rank() - 2;
  const size_t first = 3 - std::min<size_t>(spatial, 3);
  const Shape& input = c.transposed ? out : x.sizes();
  const Shape& output = c.transposed ? x.sizes() : out;
  ConvProblem<Dim> p;
  p.n = x.sizes()[0];
  p.c = input[1];
  p.k = output[1];
  p.groups = c.groups;
  for (size_t i = 0; i < spatial && i < 3; ++i) {
    p.in[first + i] = input[2 + i];
    p.out[first + i] = output[2 + i];
    p.filter[first + i] = weight.sizes()[2 + i];
    if (i < c.pad.size()) p.pad[first + i] = c.pad[i];
    if (i < c.stride.size()) p.stride[first + i] = c.stride[i];
    if (i < c.dilation.size()) p.dilation[first + i] = c.dilation[i];
  }
  p.channels_last = last;
  return p;
}

Dim flop_of(const ConvProblem<Dim>& p) {
  Dim positions = p.n;
  Dim taps = 1;
  for (size_t i = 0; i < 3; ++i) {
    positions *= p.out[i];
    taps *= p.filter[i];
  }
  return Dim(2) * positions * p.k * floor_div(p.c, p.groups) * taps;
}

// `image`: the operand that is one, whose type the others have.
void launch_pass(Machine& m, Pass pass, const ConvProblem<Dim>& p, const Value& image,
                 const Value& other, const Value& result) {
  m.launch({.kernel_class = KernelClass::kConv,
            .pass = pass,
            .dtype = image.dtype(),
            .tensor_core = m.tensor_core_convolutions(image.dtype()),
            .op = "conv",
            .flop = flop_of(p),
            .read = image.bytes() + other.bytes(),
            .written = result.bytes(),
            .problem = p},
           {&image, &other}, {&result});
}

Value bias_gradient(Machine& m, const Value& g, const Dim& channels) {
  Value db = m.allocate(g.dtype(), {channels});
  m.launch_rows(KernelClass::kReduce, "bias_gradient", g.count(), {&g}, {&db}, channels);
  return db;
}

}  // namespace

Value convolution(Machine& m, const Value& given, const Value& filter, const Value& added,
                  const Convolution& c, const Shape& out_sizes) {
  const Value x = to_autocast(m, given);
  const Value weight = to_autocast(m, filter);
  const Value bias = to_autocast(m, added);
  const bool last = channels_last(x) || channels_last(weight);
  const Value copy = in_layout(m, x, last);
  Value y = m.allocate(image_layout(m, x.dtype(), out_sizes, last));
  const ConvProblem<Dim> p = problem_of(x, weight, c, out_sizes, last);
  const Pass forward = c.transposed ? Pass::kBackwardData : Pass::kForward;
  const Pass data = c.transposed ? Pass::kForward : Pass::kBackwardData;
  launch_pass(m, forward, p, copy, weight, y);
  if (bias.defined()) m.launch_rows(KernelClass::kPointwise, "bias", y.count(), {&y, &bias}, {&y});
  const Value inputs[] = {x, weight, bias};
  const bool always_data = m.policy().first_layer_data_gradient;
  m.record(y, inputs,
           {{x, "convolution keeps its input"}, {weight, "convolution keeps its weight"}},
           [p, data, last, always_data](Machine& mm, const Gradients& g, const GradNode& n) {
             Gradients out(3);
             const Value& input = n.saved(0);
             const Value& w = n.saved(1);
             const Value relaid = in_layout(mm, input, last);
             const Value gradient = in_layout(mm, g[0], last);
             if (n.needs(0) || always_data) {
               out[0] = mm.allocate(image_layout(mm, input.dtype(), input.sizes(), last));
               launch_pass(mm, data, p, gradient, w, out[0]);
             }
             if (n.needs(1)) {
               // In the images' layout: a weight that lies otherwise gets a copy as its gradient.
               out[1] = mm.allocate(image_layout(mm, w.dtype(), w.sizes(), last));
               launch_pass(mm, Pass::kBackwardWeights, p, relaid, gradient, out[1]);
             }
             if (n.needs(2)) out[2] = bias_gradient(mm, g[0], n.edges[2].input->sizes[0]);
             return out;
           });
  return y;
}

}  // namespace plimsoll::eager
