// A line of a sweep on the web page: one run on one GPU, over sizes.
#pragma once

#include <string>
#include <vector>

#include "estimator/app/search/largest_batch.h"
#include "estimator/app/sweep/sweep.h"
#include "estimator/app/web/question.h"

namespace plimsoll {

struct WebRow {
  SizeAxis axis;
  std::vector<SweepPoint> points;  // by size
  LargestBatch largest;            // of that size
};

// E311 for a `sweep` of the question that is not a size with its values, E117 for settings that a
// sweep does not take, and the errors of sweep() and largest_batch().
Result<WebRow> web_row(const WebQuestion& question);

// A document "plimsoll.row".
std::string to_json(const WebRow& row);

}  // namespace plimsoll
