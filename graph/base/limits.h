// Limits: what an input may cost before it is refused. Each has a name; what goes beyond one is an
// E8xx that says which, and the flag that raises it.
//
//   Limits limits;
//   set_limit(limits, "nodes", 5'000'000);                       // as who asks says it
//   if (nodes > limits.nodes) return over_limit(limits, "nodes");
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/base/diagnostic.h"

namespace plimsoll {

struct Limits {
  // Models.
  int64_t model = int64_t{1} << 30;      // bytes outside tensor payload
  int64_t nodes = 2'000'000;             // after inlining functions and loops
  int64_t depth = 32;                    // of subgraphs and function calls
  int64_t rank = 64;                     // of a tensor
  int64_t dim = int64_t{1} << 48;        // of an extent
  int64_t elements = int64_t{1} << 62;   // of a tensor
  int64_t attributes = 4'096;            // of a node
  int64_t attribute_values = 1'048'576;  // of an attribute
  int64_t name = 4'096;                  // bytes
  int64_t tensors = 16'000'000;          // initializers, inputs and outputs of one graph
  int64_t stdin_bytes = int64_t{1} << 30;
  // JSON configs and databases.
  int64_t json = int64_t{64} << 20;  // bytes
  int64_t json_depth = 64;
  int64_t json_string = int64_t{1} << 20;  // bytes
  int64_t json_keys = 65'536;              // of an object
  int64_t json_values = 4'000'000;         // each costs 64 bytes and its text
  // Measured runs and sweeps.
  int64_t rows = 10'000'000;
  int64_t line = int64_t{1} << 20;  // bytes of a CSV line
  int64_t sweep = 100'000'000;      // configurations
  bool operator==(const Limits&) const = default;
};

struct LimitRow {
  std::string_view name;     // of the flag
  std::string_view code;     // of the diagnostic
  std::string_view meaning;  // "nodes after inlining"
  int64_t Limits::*member = nullptr;
};
std::span<const LimitRow> limit_rows();

// E110 for a limit nobody knows, E111 for a value below 1.
Result<void> set_limit(Limits& limits, std::string_view name, int64_t value);

// "more than 2000000 nodes after inlining [E802]", with the flag to paste. `name` is a row's;
// `message` replaces the first part where the place has more to say.
tl::unexpected<Diagnostics> over_limit(const Limits& limits, std::string_view name,
                                       Place place = {}, std::string message = {});

}  // namespace plimsoll
