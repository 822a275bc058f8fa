// A recorded step at sizes: where it holds, and what is told of it.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/weight_role.h"
#include "graph/record/record.h"

namespace plimsoll {

// The record's step, whose guards say at which sizes it holds; E282 where `binding` is elsewhere.
Result<Step> step_at(const Record& record, const Binding& binding);

// E283 where the request asks for other ranks than the record is one of.
Result<void> check_ranks(const Record& record, const Mesh& requested);

// By tensor of its graph.
std::vector<WeightRole> roles_of(const Record& record);

// Where the step comes from, and what was assumed in it.
std::vector<std::string> basis_of(const Record& record);

}  // namespace plimsoll
