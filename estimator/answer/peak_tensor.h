// The largest tensors that are alive where the step's memory is fullest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "estimator/memory/timeline.h"
#include "estimator/step/bound_step.h"
#include "graph/json/fields.h"

namespace plimsoll {

struct CompiledModel;

struct PeakTensor {
  std::string made_by;  // the node whose execution allocated it; empty for loss and update
  Role role = Role::kTemporary;
  int64_t bytes = 0;  // in the allocator's granules
  // Where it is freed; a tensor that outlives the step has no last use.
  bool resident = false;
  Phase freed_in = Phase::kForward;
  std::string freed_by;
};

inline void describe(Fields& f, PeakTensor& t) {
  f("made_by", t.made_by, {.null_where = t.made_by.empty()});
  f("role", t.role);
  f("bytes", t.bytes);
  f.object("last_use",
           [&] {
             f("phase", t.freed_in);
             f("node", t.freed_by, {.null_where = t.freed_by.empty()});
           },
           {.meaning = "where it is freed; null: it outlives the step", .null_where = t.resident});
}

// At most `most`, largest first, at the peak that walk() finds with the same arguments. Cost: two
// walks over the events.
std::vector<PeakTensor> peak_tensors(const CompiledModel& model, const BoundStep& bound,
                                     int64_t granule, std::span<const BufferId> storages,
                                     size_t most);

}  // namespace plimsoll
