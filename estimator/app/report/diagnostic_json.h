// Diagnostics as JSON: in documents, and one a line for --error-format=json.
#pragma once

#include <string>

#include "graph/base/diagnostic.h"
#include "graph/json/fields.h"

namespace plimsoll {

void describe(Fields& f, Diagnostic& diagnostic);
// On one line.
std::string to_json(const Diagnostic& diagnostic);

}  // namespace plimsoll
