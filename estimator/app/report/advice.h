// Advice as text, a table and JSON.
#pragma once

#include <span>
#include <string>

#include "estimator/answer/remedy.h"
#include "estimator/app/report/page.h"
#include "estimator/app/report/table.h"
#include "estimator/app/search/advice.h"

namespace plimsoll {

// "fits", "may fit", "too much".
TableCell verdict_cell(Verdict verdict);
// What would help, a row each.
Table remedy_table(std::span<const Remedy> remedies);

// `quiet`: the first line alone; `basis`: where figures come from too.
std::string to_text(const Advice& advice, const Page& page = {}, bool quiet = false,
                    bool basis = false);
std::string to_json(const Advice& advice);

}  // namespace plimsoll
