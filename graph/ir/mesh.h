// Mesh: the ranks of a run as a grid of named axes. Ranks that differ along one axis alone are a
// group, whose collectives name that axis.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace plimsoll {

// Innermost first: neighbours along the first axes share the fastest links. The order is
// Megatron-LM's (megatron/core/parallel_state.py, "tp-cp-ep-dp-pp"), where what shards lies within
// what replicates (torch/distributed, HSDP's mesh).
enum class Axis : uint8_t {
  kTensor,   // each rank has a part of an operator
  kContext,  // ... of each sample's sequence
  kExpert,   // ... of the experts
  kShard,    // ... of what is kept of the model, and samples of its own
  kData,     // samples of its own alone
  kStage,    // ... of the layers, one behind the other
};
inline constexpr size_t kAxisCount = 6;
// As trainers and papers write them.
inline constexpr std::array<std::string_view, kAxisCount> kAxisNames = {"tp",   "cp", "ep",
                                                                        "fsdp", "dp", "pp"};

struct Mesh {
  std::array<int64_t, kAxisCount> extents{1, 1, 1, 1, 1, 1};  // by axis
  int64_t rank = 0;                                           // which of them is looked at

  int64_t extent(Axis axis) const { return extents[static_cast<size_t>(axis)]; }
  int64_t& extent(Axis axis) { return extents[static_cast<size_t>(axis)]; }
  // How far apart in the order of ranks those are that follow each other along the axis.
  int64_t stride(Axis axis) const {
    int64_t ranks = 1;
    for (size_t inner = 0; inner < static_cast<size_t>(axis); ++inner) ranks *= extents[inner];
    return ranks;
  }
  // Which of its group along the axis the rank is.
  int64_t coordinate(Axis axis) const { return rank / stride(axis) % extent(axis); }
  // Ranks that have samples of their own: those that share experts have.
  int64_t replicas() const {
    return extent(Axis::kExpert) * extent(Axis::kShard) * extent(Axis::kData);
  }
  // Ranks that keep parts of what is sharded: those that share sequences and experts do too, of
  // what they hold alike (torchtitan's mesh "dp_shard_cp"; Megatron-LM's distributed optimizer).
  int64_t shards() const {
    return extent(Axis::kContext) * extent(Axis::kExpert) * extent(Axis::kShard);
  }
  // The same ranks, where those along `axis`, kShard or kData, take in these, which lie within.
  Mesh joined(Axis axis) const {
    Mesh mesh = *this;
    for (const Axis inner : {Axis::kContext, Axis::kExpert})
      mesh.extent(axis) *= std::exchange(mesh.extent(inner), 1);
    return mesh;
  }
  bool operator==(const Mesh&) const = default;
};

}  // namespace plimsoll
