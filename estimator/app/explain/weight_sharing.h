// WeightSharing: which part of a node's weights one GPU of a plan computes with, which part of that
// it keeps, along which axes, and with which unit's weights the rest is gathered.
#pragma once

#include <string>
#include <vector>

#include "estimator/model/compiled_model.h"
#include "graph/json/fields.h"

namespace plimsoll {

struct WeightSharing {
  std::string name;
  std::string computed_along = {};  // axis whose ranks compute with a part each; empty: with all
  int64_t computed_by = 1;          // so many parts
  std::string kept_along = {};      // axis whose ranks keep a part each of what is updated
  int64_t kept_by = 1;
  bool gathered = false;  // weights too, whole while their unit runs
  std::string unit = {};  // ... the module; empty: the network around its blocks
};

inline void describe(Fields& f, WeightSharing& s) {
  f("name", s.name);
  f("computed_along", s.computed_along, {.null_where = s.computed_along.empty()});
  f("computed_by", s.computed_by, {.meaning = "GPUs that compute with a part each"});
  f("kept_along", s.kept_along, {.null_where = s.kept_along.empty()});
  f("kept_by", s.kept_by, {.meaning = "GPUs that keep a part each of what is updated"});
  f("gathered", s.gathered, {.meaning = "weights are whole only while their unit runs"});
  f("unit", s.unit, {.null_where = s.unit.empty()});
}

// Of the node's weights those that GPUs share. Cost: linear in the graph.
std::vector<WeightSharing> weight_sharing(const CompiledModel& model, NodeId node);

}  // namespace plimsoll
