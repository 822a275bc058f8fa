// What differs between two estimates that were written to files, and which part of the memory makes
// the difference.
#pragma once

#include <string>

#include "estimator/report/page.h"
#include "estimator/report/table.h"
#include "graph/json/value.h"

namespace plimsoll {

// `before` and `after`: documents of estimate --json. Figures that one of them lacks are left out.
std::string difference_text(const JsonValue& before, const JsonValue& after, const Page& page = {});
// A row for each figure that differs.
Table difference_table(const JsonValue& before, const JsonValue& after);

}  // namespace plimsoll
