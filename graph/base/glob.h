// Names by pattern, as shells have them.
#pragma once

#include <string_view>

namespace plimsoll {

// "layer1.*" and "layer1.0.conv?.weight": a star stands for any characters, dots too, a question
// mark for one. Cost: the product of both lengths at most.
bool matches(std::string_view glob, std::string_view path);

}  // namespace plimsoll
