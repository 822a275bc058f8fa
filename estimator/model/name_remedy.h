// What was meant by a MODEL that is no file: a built-in without its prefix, a name of a hub or of a
// library, a folder of weights.
#pragma once

#include <string>

namespace plimsoll {

// Of E601 and E602: how the model that `name` stands for is asked about. Empty where nothing is
// known of such a name. Looks at the file system, reads nothing.
std::string model_remedy(const std::string& name);

}  // namespace plimsoll
