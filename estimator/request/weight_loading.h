// WeightLoading: how a program brings its weights to the card before the first step.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "graph/ir/recipe.h"

namespace plimsoll {

enum class WeightLoading : uint8_t {
  // Each weight comes once, as it stays: of one that ranks share, this rank's part.
  kParts,
  // Unit after unit comes whole, and is parted (FullyShardedDataParallel's device_id; of FSDP2
  // fully_shard() on weights of the host; DeepSpeed's zero.Init, weight after weight).
  kUnits,
  // ... of FullyShardedDataParallel with what rank 0 broadcasts of it (sync_module_states=True).
  kBroadcast,
  kWhole,       // all weights come whole to each card, and are parted then
  kCheckpoint,  // ... and a checkpoint of them lies beside: torch.load(map_location="cuda")
  kFp32,        // ... in 32 bits, and are converted one after the other: model.cuda().half()
};
inline constexpr std::array<std::string_view, 6> kWeightLoadings = {
    "parts", "units", "broadcast", "whole", "checkpoint", "fp32"};
inline std::string_view name(WeightLoading how) {
  return kWeightLoadings[static_cast<size_t>(how)];
}

// `given`, or what the library that shards does by itself.
WeightLoading loading_of(std::optional<WeightLoading> given, const Recipe& recipe);

}  // namespace plimsoll
