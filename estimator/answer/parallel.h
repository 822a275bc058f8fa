// How several GPUs share the model, as an answer says it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "estimator/model/compiled_model.h"
#include "graph/json/fields.h"

namespace plimsoll {

struct ParallelAnswer {
  std::map<std::string, int64_t> axes;  // ranks along those of more than one; none: one GPU
  int64_t rank = 0;                     // whose memory is answered
  std::string worst_because;            // why it needs most; empty: whoever asks chose it
};

inline void describe(Fields& f, ParallelAnswer& p) {
  f("axes", p.axes, {.meaning = "ranks along each axis of more than one", .low = 2});
  f("rank", p.rank, "whose memory is answered");
  f("worst_because", p.worst_because,
    {.meaning = "why no rank needs more; null where the request names the rank",
     .null_where = p.worst_because.empty()});
}

// `chosen`: the request names the rank. Cost: linear in the graph.
ParallelAnswer parallel_answer(const CompiledModel& model, bool chosen);

}  // namespace plimsoll
