#include <algorithm>
#include <functional>

#include "graph/eager/autocast.h"
#include "graph/eager/gemm.h"
#include "graph/eager/lm_loss.h"
#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

// Of one tile: TOKEN_CHUNK_SIZE, and _CHUNKED_LOGPROB_CHUNK_SIZE of trainer/utils.py.
constexpr int64_t kPositions = 4096, kClasses = 32768;

// What is multiplied: some rows of hidden states, and of the weight in their type.
struct Tile {
  Value rows, weight, scores;
  Dim first_row = 0, first_class = 0;
};

// Each tile's scores, in one buffer of that type. The last one is in a variable until the function
// ends that asked for them.
[[nodiscard]] Tile for_tiles(Machine& m, const Value& rows, const Value& weight, DType type,
                             const std::function<void(const Tile&)>& use) {
  const Dim positions = rows.sizes()[0], classes = weight.sizes()[0], size = weight.sizes()[1];
  const bool few = m.decider().less(positions, Dim(kPositions));
  const Dim at_once = few ? positions : Dim(kPositions);
  const Value buffer = m.allocate(type, {at_once, Dim(kClasses)});
  Tile tile;
  for (Dim row = 0; m.decider().less(row, positions); row = row + Dim(kPositions)) {
    const bool last_rows = !m.decider().less(row + Dim(kPositions), positions);
    const Dim length = last_rows ? positions - row : Dim(kPositions);
    const Value part = cast(m, slice(m, rows, 0, row, length, 1), type);
    for (Dim begin = 0; m.decider().less(begin, classes); begin = begin + Dim(kClasses)) {
      const bool last = !m.decider().less(begin + Dim(kClasses), classes);
      const Dim width = last ? classes - begin : Dim(kClasses);
      const Value some = cast(m, slice(m, weight, 0, begin, width, 1), type);
      const Value scores = slice(m, slice(m, buffer, 0, 0, length, 1), 1, 0, width, 1);
      launch_gemm(m, part, transpose(m, some, 0, 1), scores, 1, length, width, size, false);
      tile = {part, some, scores, row, begin};
      use(tile);
    }
  }
  return tile;
}

// One pass over a tile's scores, in their place.
void fold(Machine& m, const Tile& tile, const Value& with) {
  m.launch_rows(KernelClass::kSoftmax, "chunked_logprob", tile.scores.count() * Dim(5),
                {&tile.scores, &with}, {&tile.scores}, tile.scores.sizes()[0]);
}

// The hidden states of all positions but the last, chosen by a mask of what has a label.
Value labelled_rows(Machine& m, const Value& hidden, const Value& mask) {
  const size_t axis = hidden.rank() - 2;
  const Value before = slice(m, hidden, axis, 0, hidden.sizes()[axis] - Dim(1), 1);
  const Value indices =
      m.allocate(DType::kInt64, {mask.count() * Dim(static_cast<int64_t>(mask.rank()))});
  m.launch_rows(KernelClass::kReduce, "nonzero", 0, {&mask}, {&indices});
  return gather(m, "index", before, indices, {mask.count(), hidden.sizes().back()}, false,
                mask.count());
}

Gradients gradients_of(Machine& m, const GradNode& n, DType type) {
  const AutocastPause pause(m);
  const Value &rows = n.saved(0), &weight = n.saved(1), &sums = n.saved(3);
  Gradients out(2);
  const Value to_rows = n.needs(0) ? fill(m, DType::kFloat32, rows.sizes()) : Value();
  const Value to_weight = n.needs(1) ? fill(m, DType::kFloat32, weight.sizes()) : Value();
  const Tile last = for_tiles(m, rows, weight, type, [&](const Tile& tile) {
    fold(m, tile, sums);
    const Dim length = tile.scores.sizes()[0], width = tile.scores.sizes()[1];
    const Dim size = weight.sizes()[1];
    if (to_rows.defined())
      launch_gemm(m, tile.scores, tile.weight, slice(m, to_rows, 0, tile.first_row, length, 1), 1,
                  length, size, width, true);
    if (to_weight.defined())
      launch_gemm(m, transpose(m, tile.scores, 0, 1), tile.rows,
                  slice(m, to_weight, 0, tile.first_class, width, 1), 1, width, size, length, true);
  });
  if (to_rows.defined()) out[0] = cast(m, to_rows, rows.dtype());
  if (to_weight.defined()) out[1] = cast(m, to_weight, weight.dtype());
  return out;
}

}  // namespace

Value tiled_linear_causal_lm(Machine& m, const Value& hidden, const Value& weight) {
  Shape places = hidden.sizes();
  places.pop_back();
  const Value labels = m.resident(DType::kInt64, places, Role::kInput);
  places.back() = places.back() - Dim(1);
  const Value mask = m.allocate(DType::kBool, places);
  m.launch_rows(KernelClass::kPointwise, "ne", mask.count(), {&labels}, {&mask});
  const Value rows = labelled_rows(m, hidden, mask);
  const Value targets = m.allocate(DType::kInt64, {mask.count()});
  m.launch_rows(KernelClass::kGather, "index", 0, {&labels, &mask}, {&targets});

  const auto each = [&](DType type) { return m.allocate(type, {mask.count()}); };
  Value logprobs = each(DType::kFloat32);
  const Value sums = each(DType::kFloat32);
  const Value entropy = each(DType::kFloat32), is_first = each(DType::kBool);
  const Value inputs[] = {rows, weight};
  const DType type = m.autocast().value_or(rows.dtype());
  {
    const AutocastPause pause(m);
    const bool had = m.grad_enabled();
    m.set_grad_enabled(false);
    std::vector<Value> statistics;
    for (int i = 0; i < 7; ++i) statistics.push_back(fill(m, DType::kFloat32, {mask.count()}));
    const Tile last = for_tiles(m, rows, weight, type,
                                [&](const Tile& tile) { fold(m, tile, statistics.front()); });
    m.launch_rows(KernelClass::kPointwise, "log", mask.count(), {&statistics[0], &statistics[1]},
                  {&logprobs, &sums, &entropy, &is_first});
    m.set_grad_enabled(had);
  }
  m.record(logprobs, inputs,
           {{rows, "the loss makes its scores again"},
            {weight, "the loss makes its scores again"},
            {targets, "the loss keeps its targets"},
            {sums, "the loss keeps the logarithms of its sums"},
            {entropy, "the loss keeps the entropies of its scores"}},
           [type](Machine& mm, const Gradients&, const GradNode& n) {
             return gradients_of(mm, n, type);
           });
  return sum_all(m, logprobs);
}

}  // namespace plimsoll::eager
