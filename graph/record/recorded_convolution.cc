#include <algorithm>
#include <utility>

#include "graph/record/recorded_kernels.h"

namespace plimsoll::recorded {
namespace {

bool given(const RecordedCall& call, std::string_view name, size_t at) {
  const auto found = call.facts.find(name);
  return found != call.facts.end() && at < found->second.size() &&
         found->second[at].constant().value_or(0) != 0;
}

const Dim* fact_at(const RecordedCall& call, std::string_view name, size_t at) {
  const auto found = call.facts.find(name);
  if (found == call.facts.end() || found->second.empty()) return nullptr;
  return &found->second[std::min(at, found->second.size() - 1)];
}

int64_t stride_at(const RecordedCall& call, std::string_view name, size_t at) {
  const Dim* const stride = fact_at(call, name, at);
  return std::max<int64_t>(1, stride == nullptr ? 1 : stride->constant().value_or(1));
}

bool are_images(const RecordedTensor& x, const RecordedTensor& w, const RecordedTensor& y) {
  const size_t rank = x.type.shape.size();
  return rank >= 3 && rank <= 5 && w.type.shape.size() == rank && y.type.shape.size() == rank;
}

// Of one position, rows and channels last are one order.
bool has_channels_last(const RecordedTensor& t) {
  const Shape& shape = t.type.shape;
  return t.order == MemoryOrder::kChannelsLast &&
         std::any_of(shape.begin() + 2, shape.end(), [](const Dim& d) { return d != Dim(1); });
}

// A transposed one is the convolution whose data gradient it is.
ConvProblem<Dim> problem_of(const RecordedCall& call, const RecordedTensor& x,
                            const RecordedTensor& w, const RecordedTensor& y) {
  const bool transposed = given(call, "transposed", 0);
  const Shape& in = transposed ? y.type.shape : x.type.shape;
  const Shape& out = transposed ? x.type.shape : y.type.shape;
  const size_t spatial = in.size() - 2, first = 3 - spatial;
  ConvProblem<Dim> p;
  p.n = in[0];
  p.c = in[1];
  p.k = out[1];
  if (const Dim* groups = fact_at(call, "groups", 0)) p.groups = *groups;
  for (size_t i = 0; i < spatial; ++i) {
    p.in[first + i] = in[2 + i];
    p.out[first + i] = out[2 + i];
    p.filter[first + i] = w.type.shape[2 + i];
    if (const Dim* pad = fact_at(call, "padding", i)) p.pad[first + i] = *pad;
    p.stride[first + i] = stride_at(call, "stride", i);
    p.dilation[first + i] = stride_at(call, "dilation", i);
  }
  p.channels_last = has_channels_last(x) || has_channels_last(w);
  return p;
}

Dim flop_of(const ConvProblem<Dim>& p) {
  Dim positions = p.n, taps = 1;
  for (size_t i = 0; i < 3; ++i) {
    positions *= p.out[i];
    taps *= p.filter[i];
  }
  return Dim(2) * positions * p.k * floor_div(p.c, p.groups) * taps;
}

Kernel pass_of(const ConvProblem<Dim>& p, Pass pass, const Priced& priced,
               const RecordedTensor& image, const RecordedTensor& other,
               const RecordedTensor& result) {
  const DType dtype = image.type.dtype;
  const bool wide = dtype == DType::kFloat32;
  Kernel k{.kernel_class = KernelClass::kConv,
           .pass = pass,
           .dtype = dtype,
           .tensor_core = wide ? priced.use.tf32_convolutions : bits(dtype) <= 16,
           .op = "conv",
           .flop = flop_of(p),
           .read = bytes(image.type) + bytes(other.type),
           .written = bytes(result.type)};
  k.problem = p;
  return k;
}

Kernel of_bias(KernelClass kernel_class, std::string op, Pass pass, const RecordedTensor& over,
               const RecordedTensor& written, Dim rows) {
  const Dim all = elements(over.type.shape);
  Kernel k{.kernel_class = kernel_class,
           .pass = pass,
           .dtype = over.type.dtype,
           .op = std::move(op),
           .flop = all,
           .read = bytes(over.type),
           .written = bytes(written.type)};
  const Dim columns = rows == Dim(1) ? all : floor_div(all, rows);
  k.problem = RowsProblem<Dim>{std::move(rows), columns};
  return k;
}

}  // namespace

Kernels convolution(const RecordedCall& call, const Priced& p) {
  if (call.reads.size() < 2 || !are_images(*call.reads[0], *call.reads[1], *call.writes[0]))
    return elementwise(call, p);
  const RecordedTensor& x = *call.reads[0];
  const RecordedTensor& w = *call.reads[1];
  const RecordedTensor& y = *call.writes[0];
  const Pass pass = given(call, "transposed", 0) ? Pass::kBackwardData : Pass::kForward;
  Kernels kernels{pass_of(problem_of(call, x, w, y), pass, p, x, w, y)};
  if (call.reads.size() > 2)
    kernels.push_back(of_bias(KernelClass::kPointwise, "bias", Pass::kForward, y, y, 1));
  return kernels;
}

// Reads the result's gradient, the input and the filter; writes of their gradients those that its
// mask names.
Kernels convolution_backward(const RecordedCall& call, const Priced& p) {
  if (call.reads.size() < 3 || !are_images(*call.reads[1], *call.reads[2], *call.reads[0]))
    return elementwise(call, p);
  const RecordedTensor& g = *call.reads[0];
  const RecordedTensor& x = *call.reads[1];
  const RecordedTensor& w = *call.reads[2];
  const Pass data = given(call, "transposed", 0) ? Pass::kForward : Pass::kBackwardData;
  const ConvProblem<Dim> problem = problem_of(call, x, w, g);
  Kernels kernels;
  size_t next = 0;
  const auto wanted = [&](size_t at) {
    return given(call, "output_mask", at) && next < call.writes.size();
  };
  if (wanted(0)) kernels.push_back(pass_of(problem, data, p, g, w, *call.writes[next++]));
  if (wanted(1))
    kernels.push_back(pass_of(problem, Pass::kBackwardWeights, p, x, g, *call.writes[next++]));
  if (wanted(2))
    kernels.push_back(of_bias(KernelClass::kReduce, "bias_gradient", Pass::kBackward, g,
                              *call.writes[next], g.type.shape[1]));
  return kernels;
}

}  // namespace plimsoll::recorded
