// The table of keys that a measured run knows: what type each has and which member it fills.
#pragma once

#include <span>
#include <string_view>
#include <variant>

#include "graph/json/object.h"
#include "hwdb/measured/run.h"

namespace plimsoll {

// A measurement that must be above zero, or may be zero (a share, a utilisation).
struct Above {};
struct FromZero {};

using MeasuredMember =
    std::variant<std::string MeasuredRun::*, std::optional<int64_t> MeasuredRun::*,
                 std::optional<bool> MeasuredRun::*, std::vector<int64_t> MeasuredRun::*,
                 std::vector<std::string> MeasuredRun::*, Above, FromZero>;

struct MeasuredKey {
  std::string_view name;
  MeasuredMember member;
};

std::span<const MeasuredKey> measured_keys();
// Null for a name that is none.
const MeasuredKey* find_measured_key(std::string_view name);

// Fills a run from one record; faults go to the object's.
void decode_run(JsonObject& record, MeasuredRun& run);

// What a record says of a key: a member of the run, or a note. Nothing where it does not.
std::optional<JsonValue> value_of(const MeasuredRun& run, std::string_view key);

// Gives a run what `defaults` has and the run has not; measurements stay as they are.
void complete_run(MeasuredRun& run, const MeasuredRun& defaults);

}  // namespace plimsoll
