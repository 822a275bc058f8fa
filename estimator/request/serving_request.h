// ServingRequest: which program serves a model, and what its user sets.
#pragma once

#include <cstdint>
#include <optional>

namespace plimsoll {

struct EngineRow;  // estimator/settings/engines.h

struct ServingRequest {
  const EngineRow* engine = nullptr;   // null: transformers
  std::optional<double> memory_share;  // of the card, that it takes for itself
  std::optional<int64_t> pass_tokens;  // most of one pass
  bool operator==(const ServingRequest&) const = default;
};

}  // namespace plimsoll
