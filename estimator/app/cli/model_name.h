// Models named where a verb takes something else: as a plan, as measured runs, as a command.
#pragma once

#include <string>
#include <string_view>

#include "graph/base/diagnostic.h"

namespace plimsoll::cli {

// The MODEL that a word means: a built-in by its full name, a path that ends as models' files do,
// or the built-in nearest to a word that is no file. Empty where it means none.
std::string model_meant(std::string_view word);

// E122 where `word` names a model; `verb` takes `wanted`, which the help shows by `example`, a
// format with the model as its argument.
Result<void> refuse_model(std::string_view word, std::string_view verb, std::string_view wanted,
                          std::string_view example);

// A plan names its model's file as seen from its own folder; `plan` is a path, or - for none.
std::string model_beside(const std::string& plan, const std::string& model);

}  // namespace plimsoll::cli
