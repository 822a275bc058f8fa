// What `plimsoll explain` shows: a diagnostic code, a node of a model, or why two figures differ.
#pragma once

#include <string>

#include "estimator/app/explain/figure_gap.h"
#include "estimator/app/explain/node_report.h"
#include "estimator/app/report/explanation.h"
#include "estimator/app/report/page.h"
#include "graph/json/fields.h"

namespace plimsoll {

std::string to_text(const Explanation& explanation);
std::string to_text(const Explained& explained, const Page& page = {});
std::string to_json(const Explanation& explanation);
std::string to_json(const Explained& explained);
void describe(Fields& f, Explained& explained);
std::string to_text(const FigureGap& gap, const Page& page = {});
std::string to_json(const FigureGap& gap);
void describe(Fields& f, FigureGap& gap);

}  // namespace plimsoll
