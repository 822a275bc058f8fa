// allocator_options: the settings that users give PyTorch's allocator, in PyTorch's own spelling.
//
//   auto rules = caching_rules("expandable_segments:True,max_split_size_mb:128");
//   rules->max_split_size;    // 134217728
#pragma once

#include <string_view>

#include "estimator/memory/allocator/caching.h"
#include "graph/base/diagnostic.h"

namespace plimsoll {

// What PYTORCH_CUDA_ALLOC_CONF=`text` asks for; "" asks for nothing. Understood are
// max_split_size_mb, roundup_power2_divisions (one number) and expandable_segments. E161 for what
// PyTorch itself refuses, and for settings whose effect is not modelled.
Result<CachingRules> caching_rules(std::string_view text);

// E161 where PyTorch refuses the combination.
Result<void> check(const CachingRules& rules);

}  // namespace plimsoll
