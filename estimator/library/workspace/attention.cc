#include "estimator/library/workspace/attention.h"

#include "graph/base/checked.h"

namespace plimsoll {
namespace {

constexpr int64_t kWordBytes = 4;  // of sums in 32 bits

// What a kernel pads queries and the features of a head to.
struct Tile {
  int64_t queries, features;
};

Tile tile_of(const AttentionProblem<int64_t>& p, DType dtype) {
  constexpr int64_t kSmallHead = 64, kHead = 128;
  switch (p.form) {
    case AttentionForm::kFlash:
      return {128, 32};
    case AttentionForm::kMemoryEfficient:
      if (p.head_size <= kSmallHead) return {64, 64};
      return {128, dtype == DType::kFloat32 && p.head_size > kHead ? 64 : 128};
    case AttentionForm::kLibrary:
      break;
  }
  return {1, 1};
}

// The memory-efficient kernel keeps what it has added up of wider values in registers no more.
constexpr int64_t kValuesInRegisters = 128;

int64_t forward_workspace(const AttentionProblem<int64_t>& p, DType dtype) {
  if (p.form != AttentionForm::kMemoryEfficient || dtype == DType::kFloat32) return 0;
  if (p.value_size <= kValuesInRegisters) return 0;
  return p.batch * p.heads * p.queries * p.value_size * kWordBytes;
}

// Gradients of keys and values that heads share are made for each head first.
int64_t expanded_gradients(const AttentionProblem<int64_t>& p, DType dtype) {
  if (p.heads == p.kv_heads) return 0;
  return p.batch * p.heads * p.keys * (p.head_size + p.value_size) * bits(dtype) / 8;
}

}  // namespace

int64_t attention_workspace(const AttentionProblem<int64_t>& p, Pass pass, DType dtype) {
  if (pass == Pass::kForward) return forward_workspace(p, dtype);
  const Tile tile = tile_of(p, dtype);
  const int64_t queries = p.batch * p.heads * round_up(p.queries, tile.queries);
  // Flash pads the number that it keeps for each query too.
  const int64_t sums = p.form == AttentionForm::kFlash ? queries : p.batch * p.heads * p.queries;
  return (queries * round_up(p.head_size, tile.features) + sums) * kWordBytes +
         expanded_gradients(p, dtype);
}

}  // namespace plimsoll
