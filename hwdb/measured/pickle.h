// Pickles are programs: what looks like one is refused with the line of Python that makes JSON of
// it.
#pragma once

#include "graph/base/byte_source.h"
#include "graph/base/diagnostic.h"

namespace plimsoll {

// E530 where the file begins as a pickle does.
Result<void> refuse_pickle(const ByteSource& source);

}  // namespace plimsoll
