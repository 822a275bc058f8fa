// Views, copies, indexing and reductions.
#include <algorithm>
#include <array>
#include <numeric>

#include "graph/eager/autocast.h"
#include "graph/eager/masked_scatter.h"
#include "graph/ops/lower.h"

namespace plimsoll::lower {

Values reshape(Lowering& l) { return {eager::reshape(l.m, l.in(0), l.out_shape(0))}; }

Values transpose(Lowering& l) {
  std::vector<size_t> order;
  for (const int64_t axis : l.attributes().integers("perm"))
    order.push_back(static_cast<size_t>(axis));  // plain since the shape rule
  if (order.empty()) {
    for (size_t i = l.in(0).rank(); i-- > 0;) order.push_back(i);
  }
  return {eager::permute(l.m, l.in(0), order)};
}

Values expand(Lowering& l) { return {eager::expand(l.m, l.in(0), l.out_shape(0))}; }

Values squeeze(Lowering& l) {
  const auto is_one = [&](size_t axis) { return l.m.decider().is_one(l.in(0).sizes()[axis]); };
  auto axes = l.axes(1, l.in(0).rank(), false);
  if (axes.empty()) {
    for (size_t i = 0; i < l.in(0).rank(); ++i) axes.push_back(i);
  }
  std::erase_if(axes, [&](size_t axis) { return !is_one(axis); });
  return {eager::squeeze(l.m, l.in(0), axes)};
}

Values unsqueeze(Lowering& l) {
  auto axes = l.axes(1, l.out_shape(0).size(), false);
  std::sort(axes.begin(), axes.end());
  Value y = l.in(0);
  for (const size_t axis : axes) y = eager::unsqueeze(l.m, y, axis);
  return {y};
}

Values slice(Lowering& l) {
  // PyTorch has no windows that run backwards: torch.flip copies.
  if (const auto* steps = l.dims(4); steps && l.in(0).on_device()) {
    const bool flips = std::any_of(steps->begin(), steps->end(),
                                   [](const Dim& step) { return step.constant_term() < 0; });
    if (flips) return {eager::rearrange(l.m, "flip", l.in(0), l.out_shape(0))};
  }
  // A step other than one still is a window; only its sizes matter here.
  Value y = l.in(0);
  const Shape& out = l.out_shape(0);
  for (size_t axis = 0; axis < out.size(); ++axis) {
    if (y.sizes()[axis] != out[axis]) y = eager::slice(l.m, y, axis, 0, out[axis], 1);
  }
  return {y};
}

Values split(Lowering& l) {
  const size_t axis = l.axis(0);
  std::vector<Dim> lengths;
  const bool unbound = l.node().notes.unbound;
  for (size_t i = 0; i < l.node().outputs.size(); ++i)
    lengths.push_back(l.wants(i) ? l.out_shape(i)[axis] : Dim(1));
  return eager::split(l.m, l.in(0), axis, lengths, unbound);
}

Values concat(Lowering& l) {
  const size_t axis = l.axis(0);
  if (l.inputs().size() == 1) return {l.in(0)};
  return {eager::concat(l.m, l.inputs(), axis)};
}

Values rearrange(Lowering& l) {
  std::string op = l.node().op;
  for (char& c : op) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const bool resamples = op == "resize" || op == "upsample" || op == "gridsample";
  const Value x = resamples ? eager::to_single(l.m, l.in(0)) : l.in(0);
  return {eager::rearrange(l.m, op, x, l.out_shape(0))};
}

Values pad(Lowering& l) {
  const std::string mode = l.attributes().string("mode", "constant");
  if (mode == "constant" || mode == "wrap") return rearrange(l);
  const Value& x = l.in(0);
  if (!x.on_device()) return {l.m.host(x.dtype(), l.out_shape(0))};
  const Value inputs[] = {x};
  Value y = l.m.allocate(x.dtype(), l.out_shape(0));
  l.m.launch_rows(KernelClass::kCopy, "pad", 0, {&x}, {&y});
  l.m.record(y, inputs, {{x, "padding by reflection or repetition keeps its input"}},
             [](eager::Machine& m, const eager::Gradients& g, const eager::GradNode& n) {
               Value dx = eager::fill(m, n.saved(0).dtype(), n.saved(0).sizes());
               m.launch_rows(KernelClass::kScatter, "pad", g[0].count(), {&g[0]}, {&dx});
               return eager::Gradients{dx};
             });
  return {y};
}

// A constant scalar index is a window (select); a table of rows is an embedding; else a copy.
Values gather(Lowering& l) {
  const Value& x = l.in(0);
  const size_t axis = l.axis(0);
  const Value& indices = l.in(1);
  if (indices.rank() == 0) return {eager::select(l.m, x, axis, 0)};
  if (axis == 0 && x.rank() == 2 && indices.on_device()) {
    return {eager::embedding(l.m, x, indices, l.out_shape(0), l.is_parameter(0))};
  }
  return {eager::gather(l.m, "gather", x, indices, l.out_shape(0), false)};
}

// plimsoll:Index: x[indices].
Values index(Lowering& l) { return {eager::index(l.m, l.in(0), l.in(1), l.out_shape(0))}; }

Values embedding_bag(Lowering& l) {
  const bool largest = l.attributes().string("mode", "mean") == "max";
  return {eager::embedding_bag(l.m, l.in(0), l.in(1), l.in(2), l.out_shape(0), largest)};
}

Values gather_elements(Lowering& l) {
  return {eager::gather(l.m, "gather", l.in(0), l.in(1), l.out_shape(0), true)};
}

Values detach(Lowering& l) { return {l.in(0).detached()}; }

// x.requires_grad = True of an input: what comes of it keeps what gradients need, be all weights
// frozen (transformers 5.24, Wav2Vec2FeatureEncoder.forward()).
Values want_gradient(Lowering& l) {
  Value x = l.in(0).detached();
  if (l.m.recipe().mode != Mode::kInference) l.m.require_gradient(x);
  return {x};
}

Values contiguous(Lowering& l) {
  const bool training_alone = l.attributes().integer("training", 0) != 0;
  if (training_alone && l.m.recipe().mode == Mode::kInference) return {l.in(0)};
  const bool always = l.attributes().integer("always", 0) != 0;
  return {always ? eager::clone(l.m, l.in(0)) : eager::contiguous(l.m, l.in(0))};
}

Values pick(Lowering& l) {
  const Value& places = l.in(1);
  const bool by_index = l.node().op == "GatherND" && places.rank() > 0;
  const Dim sorted = by_index ? floor_div(places.count(), places.sizes().back()) : Dim(0);
  return {eager::gather(l.m, "gather", l.in(0), places, l.out_shape(0), false, sorted)};
}

// Rows that are added where one number each says: torch.index_add(), as routed experts return what
// they made.
Values scatter(Lowering& l) {
  const Value& indices = l.in(1);
  const bool one_each = indices.rank() == 2 && indices.sizes()[1] == Dim(1);
  const bool adds_rows =
      l.node().op == "ScatterND" && one_each && l.attributes().string("reduction", "none") == "add";
  return {eager::scatter(l.m, "scatter", l.in(0), indices, l.in(2), adds_rows)};
}

Values assign(Lowering& l) {
  return {eager::assign(l.m, l.in(0), l.in(1), l.attributes().integer("cloned", 0) != 0)};
}

Values index_put(Lowering& l) {
  const bool cloned = l.attributes().integer("cloned", 0) != 0;
  return {eager::index_put(l.m, l.in(0), l.in(1), l.in(2), cloned)};
}

Values masked_scatter(Lowering& l) {
  return {eager::masked_scatter(l.m, l.in(0), l.in(1), l.in(2))};
}

Values masked_add(Lowering& l) { return {eager::masked_add(l.m, l.in(0), l.in(1), l.in(2))}; }

Values slice_scatter(Lowering& l) { return {eager::slice_scatter(l.m, l.in(0), l.in(1))}; }

// plimsoll:CopiedColumns: side by side, then among zeros where there are more columns.
Values copied_columns(Lowering& l) {
  const Value& first = l.in(0);
  const size_t last = first.rank() - 1;
  const Value x = l.inputs().size() == 1 ? first : eager::concat(l.m, l.inputs(), last);
  if (l.m.decider().equal(x.sizes()[last], l.out_shape(0)[last])) return {x};
  return {eager::copied_columns(l.m, x, l.out_shape(0))};
}

Values top_k(Lowering& l) {
  const Value indices = l.m.allocate(DType::kInt64, l.out_shape(1));
  const Shape& out = l.out_shape(0);
  const Dim rows = floor_div(elements(out), out[l.axis(-1)]);
  // All of them, in order, are a sort.
  const char* op = l.in(0).sizes() == out ? "sort" : "topk";
  return {eager::gather(l.m, op, l.in(0), indices, out, false, 0, rows), indices};
}

Values grid_sample(Lowering& l) {
  const auto both = eager::of_one_type(l.m, std::array{l.in(0), l.in(1)});
  const Value& x = both[0];
  const Value& grid = both[1];
  Value y = l.m.allocate(x.dtype(), l.out_shape(0));
  l.m.launch_over(KernelClass::kGather, "grid_sample", y.count() * Dim(8), l.inputs(), y);
  const Value inputs[] = {x, grid};
  l.m.record(y, inputs,
             {{x, "grid sampling keeps its input"}, {grid, "grid sampling keeps its grid"}},
             [](eager::Machine& m, const eager::Gradients& g, const eager::GradNode& n) {
               eager::Gradients out(2);
               for (size_t i = 0; i < 2; ++i) {
                 out[i] = eager::fill(m, n.saved(i).dtype(), n.saved(i).sizes());
               }
               m.launch_rows(KernelClass::kScatter, "grid_sample", g[0].count() * Dim(8),
                             {&g[0], &n.saved(0), &n.saved(1)}, {&out[0], &out[1]});
               return out;
             });
  return {y};
}

namespace {

Values reduced(Lowering& l, eager::Reduction kind, const eager::ReductionTemporaries& made = {}) {
  const Value& x = l.in(0);
  const bool named =
      kind == eager::Reduction::kKeepsInputAndResult || kind == eager::Reduction::kKeepsInput;
  const bool keep = l.attributes().integer("keepdims", 1) != 0;
  const auto axes = l.axes(1, x.rank(), true);
  if (axes.empty()) return {x};
  return {
      eager::reduce(l.m, named ? l.node().op : std::string("reduce"), x, axes, keep, kind, made)};
}

}  // namespace

Values arg_extremum(Lowering& l) {
  const Value& x = l.in(0);
  Value y = l.m.allocate(l.out_dtype(0), l.out_shape(0));
  std::string op = l.node().op == "ArgMax" ? "argmax" : "argmin";
  if (eager::keeps_fastest_axis(x, {l.axis(0)})) op = "column_" + op;
  l.m.launch_rows(KernelClass::kReduce, std::move(op), x.count(), {&x}, {&y}, y.count());
  return {y};
}

Values reduce_sum(Lowering& l) { return reduced(l, eager::Reduction::kSum); }
Values reduce_mean(Lowering& l) { return reduced(l, eager::Reduction::kMean); }
Values reduce_keeping_input(Lowering& l) { return reduced(l, eager::Reduction::kKeepsInput); }
// grad * self.sgn(), grad * (result / self)
Values reduce_keeping_both(Lowering& l) {
  return reduced(l, eager::Reduction::kKeepsInputAndResult, {.whole = 1});
}
Values reduce_l2(Lowering& l) {
  return reduced(l, eager::Reduction::kKeepsInputAndResult, eager::kNormTemporaries);
}
// grad * (self - result).exp()
Values reduce_log_sum_exp(Lowering& l) {
  return reduced(l, eager::Reduction::kKeepsInputAndResult, {.whole = 2});
}
// grad * (self - mean), for which the mean is made again; a deviation divides the gradient, too.
Values variance(Lowering& l) {
  return reduced(l, eager::Reduction::kKeepsInput, {.whole = 1, .reduced = 2});
}
Values standard_deviation(Lowering& l) {
  return reduced(l, eager::Reduction::kKeepsInputAndResult, {.whole = 1, .reduced = 3});
}
// max and min along one dimension keep their positions, which nobody need have asked for;
// torch.amax keeps its input. Exporters write the same for both, and people write max; max over all
// is as amax.
Values reduce_extremum(Lowering& l) {
  const bool asked = l.node().notes.positions;  // recover() saw it
  const bool one = asked || (l.axes(1, l.in(0).rank(), true).size() == 1 && l.in(0).rank() > 1);
  const bool named = l.node().notes.values_alone ||
                     l.node().name.find("amax") != std::string::npos ||
                     l.node().name.find("amin") != std::string::npos;
  return reduced(l, one && !named ? eager::Reduction::kIndices : eager::Reduction::kExtremum);
}

namespace {

// Before opset 13 softmax flattens from its axis on, and the axis is 1 where none is given.
size_t softmax_axis(Lowering& l) { return l.axis(l.opset() < 13 ? 1 : -1); }

}  // namespace

Values softmax(Lowering& l) { return {eager::softmax(l.m, l.in(0), softmax_axis(l))}; }
Values cumulative_sum(Lowering& l) { return {eager::cumulative_sum(l.m, l.in(0))}; }

Values log_softmax(Lowering& l) { return {eager::softmax(l.m, l.in(0), softmax_axis(l), true)}; }

}  // namespace plimsoll::lower
