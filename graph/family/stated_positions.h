// How long a sequence may be by a config of transformers: what the model was trained for, or its
// scaled rotary embeddings reach.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/json/value.h"

namespace plimsoll {

// Nothing where the config states no length. Source: vllm-project/vllm, vllm/config/model.py,
// _get_and_verify_max_len() (commit 0052a5b8): the keys, and how rope_parameters scale them.
std::optional<int64_t> stated_positions(const JsonValue& config);

}  // namespace plimsoll
