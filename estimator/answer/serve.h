// What serving takes: the cache of keys and values, how many positions fit, the time of both
// phases.
#pragma once

#include <cstdint>
#include <string>

#include "graph/json/fields.h"

namespace plimsoll {

struct ServeEstimate {
  int64_t kv_bytes_per_token = 0;  // of one sequence, while it is within all windows
  int64_t kv_bytes = 0;            // of all sequences at their length
  int64_t tokens_that_fit = 0;     // positions of all sequences together; 0: not even these fit
  int64_t prefill_ns = 0;          // of all sequences
  int64_t decode_ns = 0;           // of one more token of each
  std::string engine;              // whose rule says how much memory is cache
  int64_t cache_bytes = 0;         // that the engine has for it
  int64_t block_tokens = 1;        // of one sequence, which it is given at a time
};

inline void describe(Fields& f, ServeEstimate& s) {
  f("kv_bytes_per_token", s.kv_bytes_per_token, "of one sequence, while it is within all windows");
  f("kv_bytes", s.kv_bytes, "of all sequences at their length");
  f("tokens_that_fit", s.tokens_that_fit,
    "positions of all sequences together; 0: not even the requested ones fit");
  f("prefill_ns", s.prefill_ns, "of all sequences");
  f("decode_ns", s.decode_ns, "of one more token of each");
  f("engine", s.engine, "the program whose rule sets the size of the cache");
  f("cache_bytes", s.cache_bytes, "that the engine has for keys and values");
  f("block_tokens", s.block_tokens, "of one sequence, which the engine gives at a time");
}

}  // namespace plimsoll
