// The largest batch as text and JSON.
#pragma once

#include <string>

#include "estimator/app/report/page.h"
#include "estimator/app/report/table.h"
#include "estimator/app/search/largest_batch.h"

namespace plimsoll {

// `quiet`: the answer alone; `basis`: where figures come from too.
std::string to_text(const LargestBatch& largest, const Page& page = {}, bool quiet = false,
                    bool basis = false);
// The round batches.
Table round_table(const LargestBatch& largest);
// What would make a batch fit, where none does; a row each.
Table batch_remedy_table(const LargestBatch& largest);
std::string to_json(const LargestBatch& largest);

}  // namespace plimsoll
