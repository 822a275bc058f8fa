// One model on several GPUs: as a table with the ones to choose, and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/answer/estimate.h"
#include "estimator/report/page.h"
#include "estimator/report/table.h"

namespace plimsoll {

struct Comparison {
  std::vector<Estimate> estimates;            // one a GPU, at least one
  std::vector<std::optional<double>> prices;  // of an hour of each
};

// `quiet`: only which GPU to choose.
std::string to_text(const Comparison& comparison, const Page& page = {}, bool quiet = false);
Table comparison_table(const Comparison& comparison);
// A list of estimates.
std::string to_json(const Comparison& comparison);

}  // namespace plimsoll
