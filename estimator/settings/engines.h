// Programs that serve models, and how they share out a card's memory.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "hwdb/device.h"

namespace plimsoll {

// Most of one pass, where its user sets nothing.
struct EngineLimits {
  int64_t tokens = 0, sequences = 0;
};

// One takes a share of the card. It runs a pass of as many tokens as there can be, and what that
// leaves of the share is cache, in blocks of so many tokens of one sequence.
struct EngineRow {
  std::string_view name;     // "vllm"
  std::string_view program;  // "vLLM"
  double memory_share = 0;   // of the card; 0: it takes memory as it needs it
  int64_t block_tokens = 1;
  EngineLimits large{}, others{};  // of cards with much memory, and of others
  int64_t large_bytes = 0;         // from so much memory on a card is large
  std::string_view never_large{};  // ... but for those with this in their ids
  std::string_view source;
};

std::span<const EngineRow> engines();
EngineLimits limits_on(const EngineRow& engine, const Device& device, int64_t memory_bytes);

}  // namespace plimsoll
