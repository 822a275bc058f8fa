#include "graph/eager/ops.h"

namespace plimsoll::eager {

namespace {

// Adds the rows of `g` to those of `table` that `indices` say, which are `g`'s, or all of it where
// there are fewer.
void add_rows(Machine& m, std::string op, const Value& g, const Value& indices,
              const Value& table) {
  const Dim columns = table.sizes().back();
  m.launch({.kernel_class = KernelClass::kScatter,
            .pass = m.pass(),
            .dtype = table.dtype(),
            .op = std::move(op),
            .flop = indices.count() * columns,
            .read = g.bytes() + indices.bytes(),
            .written = min(table.bytes(), bytes(table.dtype(), indices.count() * columns)),
            .problem = RowsProblem<Dim>{indices.count(), columns}},
           {&g, &indices}, {&table});
}

// A dense gradient of the table, as zeros. DTensor makes the whole table's, of which this rank's
// rows are a view (torch/distributed/tensor/_ops/_embedding_ops.py).
Value zeros_of_table(Machine& m, const GradNode& n) {
  const Layout& rows = *n.edges[0].input;
  const auto& split = n.edges[0].node->split;
  const bool here = !split || split->axis != Axis::kTensor || split->dimension != 0;
  if (here || m.recipe().parallel.split_loss == SplitLoss::kMegatron)
    return fill(m, rows.dtype, rows.sizes);
  Shape all = rows.sizes;
  all[0] *= m.recipe().parallel.mesh.extent(Axis::kTensor);
  return m.view_of(fill(m, rows.dtype, all), contiguous_layout(rows.dtype, rows.sizes));
}

}  // namespace

Value embedding(Machine& m, const Value& table, const Value& indices, const Shape& out_sizes,
                bool is_table) {
  Value y = m.allocate(table.dtype(), out_sizes);
  m.launch_rows(KernelClass::kGather, "embedding", 0, {&indices, &y}, {&y}, indices.count());
  const Value inputs[] = {table};
  m.record(y, inputs, {{indices, "embedding keeps its indices"}},
           [is_table](Machine& mm, const Gradients& g, const GradNode& n) {
             Value dense = zeros_of_table(mm, n);
             add_rows(mm, is_table ? "embedding" : "index_put", g[0], n.saved(0), dense);
             return Gradients{dense};
           });
  return y;
}

// ATen/native/cuda/EmbeddingBag.cu. Bags of equal length are given by an array made on the spot.
Value embedding_bag(Machine& m, const Value& table, const Value& indices, const Value& given,
                    const Shape& out_sizes, bool largest) {
  const Value begins = given.on_device() ? given : m.allocate(DType::kInt64, {out_sizes[0]});
  const Value lengths = m.allocate(DType::kInt64, begins.sizes());
  const Value bags = m.allocate(DType::kInt64, {indices.count()});
  Value y = m.allocate(table.dtype(), out_sizes);
  std::vector<Kept> kept{{indices, "embedding_bag keeps its indices"},
                         {begins, "embedding_bag keeps where its bags begin"},
                         {bags, "embedding_bag keeps the bag of each index"},
                         {lengths, "embedding_bag keeps how long its bags are"}};
  if (largest) {
    kept.push_back(
        {m.allocate(DType::kInt64, out_sizes), "embedding_bag keeps which rows are the largest"});
  }
  m.launch_rows(KernelClass::kGather, "embedding_bag", 0, {&indices, &bags, &y}, {&y, &bags},
                indices.count());
  const Value inputs[] = {table};
  // The largest are scattered as they are; sums are of sorted rows.
  const std::string op = largest ? "scatter" : "embedding_bag";
  m.record(y, inputs, std::move(kept), [op](Machine& mm, const Gradients& g, const GradNode& n) {
    const Layout& before = *n.edges[0].input;
    Value dense = fill(mm, before.dtype, before.sizes);
    add_rows(mm, op, g[0], n.saved(0), dense);
    return Gradients{dense};
  });
  return y;
}

Value gather(Machine& m, std::string op, const Value& x, const Value& indices,
             const Shape& out_sizes, bool keeps_source, const Dim& sorted, const Dim& rows) {
  if (!x.on_device()) return m.host(x.dtype(), out_sizes);
  Value y = m.allocate(x.dtype(), out_sizes);
  // Rows are of what it chooses from.
  const Dim columns = rows == Dim(1) ? y.count() : floor_div(x.count(), rows);
  m.launch({.kernel_class = KernelClass::kGather,
            .pass = m.pass(),
            .dtype = y.dtype(),
            .op = std::move(op),
            .read = (indices.on_device() ? indices.bytes() : Dim(0)) + y.bytes(),
            .written = y.bytes(),
            .problem = RowsProblem<Dim>{rows, columns}},
           {&indices, &y}, {&y});
  std::vector<Kept> kept{{indices, "gather keeps its indices"}};
  if (keeps_source) kept.push_back({x, "gather keeps its source"});
  const Value inputs[] = {x};
  m.record(y, inputs, std::move(kept),
           [sorted](Machine& mm, const Gradients& g, const GradNode& n) {
             const Layout& before = *n.edges[0].input;
             Value dx = fill(mm, before.dtype, before.sizes);
             const bool sorts = !(sorted == Dim(0));
             mm.launch_rows(KernelClass::kScatter, sorts ? "index_put" : "scatter", g[0].count(),
                            {&g[0], &n.saved(0)}, {&g[0]}, sorts ? sorted : Dim(1));
             return Gradients{dx};
           });
  return y;
}

Value index(Machine& m, const Value& x, const Value& indices, const Shape& out_sizes) {
  if (x.rank() == 2 && x.on_device()) return embedding(m, x, indices, out_sizes, false);
  return gather(m, "gather", x, indices, out_sizes, false, indices.count());
}

Value scatter(Machine& m, std::string op, const Value& x, const Value& indices,
              const Value& updates, bool adds_rows) {
  if (!x.on_device() && !updates.on_device()) return m.host(x.dtype(), x.sizes());
  Value y = m.allocate(x.dtype(), x.sizes());
  m.launch_rows(KernelClass::kScatter, std::move(op), 0, {&x, &indices, &updates}, {&y});
  const Value inputs[] = {x, updates};
  std::vector<Kept> kept{{indices, "scatter keeps its indices"}};
  if (adds_rows) kept.push_back({updates, "index_add keeps its source"});
  m.record(y, inputs, std::move(kept),
           [adds_rows](Machine& mm, const Gradients& g, const GradNode& n) {
             Gradients out(2);
             if (adds_rows) {
               out[0] = g[0];
             } else if (n.needs(0)) {
               out[0] = mm.allocate(g[0].dtype(), g[0].sizes());
               mm.launch_rows(KernelClass::kScatter, "scatter", 0, {&g[0], &n.saved(0)}, {&out[0]});
             }
             if (n.needs(1)) {
               out[1] = mm.allocate(g[0].dtype(), n.edges[1].input->sizes);
               mm.launch_rows(KernelClass::kGather, "gather", 0, {&out[1], &n.saved(0)}, {&out[1]});
             }
             return out;
           });
  return y;
}

namespace {

// A weight is cloned by whoever writes into it, as is what is read later.
Value written_to(Machine& m, const Value& x, bool cloned) {
  return cloned || (x.requires_grad() && x.grad()->is_leaf) ? clone(m, x, x.layout_ref()) : x;
}

}  // namespace

// Backward (CopySlices in autograd's custom_function and accumulate code): the whole gradient is
// copied, the part cloned for the copy's own backward, which makes zeros of it for what was there.
Value assign(Machine& m, const Value& given, const Value& updates, bool cloned) {
  const Value x = written_to(m, given, cloned);
  m.launch_rows(KernelClass::kCopy, "copy", 0, {&updates}, {&updates});
  Value y = x.detached();
  const Value inputs[] = {x, updates};
  m.record(y, inputs, {},
           [part = updates.layout_ref()](Machine& mm, const Gradients& g, const GradNode& n) {
             Gradients out(2);
             const Value whole = clone(mm, g[0]);
             const Value cut = mm.allocate(part->dtype, part->sizes);
             mm.launch_rows(KernelClass::kCopy, "copy", 0, {&cut}, {&cut});
             if (n.needs(0)) {
               const Value zeros = fill(mm, part->dtype, part->sizes);
               out[0] = whole;
             }
             if (n.needs(1)) out[1] = cut;
             return out;
           });
  return y;
}

// derivatives.yaml: _index_put_impl_ is grad.index_put(indices, zeros) and grad.index(indices).
Value index_put(Machine& m, const Value& given, const Value& indices, const Value& updates,
                bool cloned) {
  const Value x = written_to(m, given, cloned);
  m.launch_rows(KernelClass::kScatter, "index_put", 0, {&indices, &updates}, {&updates});
  Value y = x.detached();
  const Value inputs[] = {x, updates};
  m.record(
      y, inputs, {{indices, "index_put keeps its indices"}},
      [part = updates.layout_ref()](Machine& mm, const Gradients& g, const GradNode& n) {
        Gradients out(2);
        if (n.needs(0)) {
          const Value zeros = fill(mm, part->dtype, part->sizes);
          out[0] = clone(mm, g[0]);
          mm.launch_rows(KernelClass::kScatter, "index_put", 0, {&zeros, &n.saved(0)}, {&zeros});
        }
        if (n.needs(1)) {
          out[1] = mm.allocate(part->dtype, part->sizes);
          mm.launch_rows(KernelClass::kGather, "index", 0, {&out[1], &n.saved(0)}, {&out[1]});
        }
        return out;
      });
  return y;
}

// derivatives.yaml: the gradient of index_copy's source is expanded as the source, which it keeps.
Value copied_columns(Machine& m, const Value& columns, const Shape& sizes) {
  Value y = fill(m, columns.dtype(), sizes);
  m.launch_rows(KernelClass::kScatter, "index_copy", 0, {&columns}, {&y});
  const Value inputs[] = {columns};
  m.record(y, inputs, {{columns, "index_copy keeps its source"}},
           [](Machine& mm, const Gradients& g, const GradNode& n) {
             Value picked = mm.allocate(g[0].dtype(), n.saved(0).sizes());
             mm.launch_rows(KernelClass::kGather, "index_select", 0, {&picked}, {&picked});
             return Gradients{picked};
           });
  return y;
}

// derivatives.yaml: slice_scatter is grad.slice_scatter(zeros), and a view of the gradient.
Value slice_scatter(Machine& m, const Value& x, const Value& updates) {
  Value y = m.allocate(x.dtype(), x.sizes());
  m.launch_rows(KernelClass::kCopy, "slice_scatter", 0, {&x, &updates}, {&y});
  const Value inputs[] = {x, updates};
  m.record(y, inputs, {},
           [part = updates.layout_ref()](Machine& mm, const Gradients& g, const GradNode& n) {
             Gradients out(2);
             if (n.needs(0)) {
               const Value zeros = fill(mm, part->dtype, part->sizes);
               out[0] = clone(mm, g[0]);
             }
             if (!n.needs(1)) return out;
             out[1] = g[0];
             for (size_t axis = 0; axis < part->sizes.size(); ++axis) {
               const Dim& length = part->sizes[axis];
               if (out[1].sizes()[axis] != length) out[1] = slice(mm, out[1], axis, 0, length, 1);
             }
             return out;
           });
  return y;
}

}  // namespace plimsoll::eager
