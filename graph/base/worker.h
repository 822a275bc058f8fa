// Worker: what one thread of work_in_order() works with.
#pragma once

#include <cstddef>
#include <functional>

namespace plimsoll {

// It is asked for units in ascending order, and may keep from one what helps with the next.
template <class Answer>
using Worker = std::function<Answer(size_t unit)>;

}  // namespace plimsoll
