// A call of one of PyTorch's operators as a record has it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/symbol/shape.h"

namespace plimsoll {

// How a tensor's elements follow each other: by rows, channels last, or with its last two axes the
// other way round.
enum class MemoryOrder : uint8_t { kRows, kChannelsLast, kTransposed };

struct RecordedTensor {
  TensorType type;
  MemoryOrder order = MemoryOrder::kRows;
};

struct RecordedCall {
  std::string op;  // without its library: "mm", "_foreach_add_"
  std::vector<const RecordedTensor*> reads, writes;
  std::map<std::string, std::vector<Dim>, std::less<>>
      facts;  // "stride": {2, 2}; a truth is 0 or 1
};

// What fp32 operands may lose on tensor cores, as the program set it.
struct TensorCoreUse {
  bool tf32_products = false, tf32_convolutions = false;
};

}  // namespace plimsoll
