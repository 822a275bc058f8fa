// Names that libraries' modules and arrays always have, and what they tell. A row each.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace plimsoll {

enum class NameRole : uint8_t {
  // Of an array that looks like a trained one in all else:
  kBuffer,        // registered as a buffer
  kMask,          // so, unless it differs from head to head
  kScale,         // so where it is one number
  kPatchSines,    // so unless its rows are picked
  kFrequencies,   // a buffer that its module holds twice
  kPositions,     // sines without a gradient where positions themselves pick its rows, else trained
  kAllPositions,  // the same, and where it is taken whole
  // Of what is returned, and all below it:
  kCache,  // keys and values for later steps
  // Of a module:
  kEmbeddings,  // its caller's code keeps a name for what it returns
  kEncoder,     // what it returns lives as long as the model runs, where a decoder is given it
  kDecoder,     // its caller keeps a name for it, where it looks its tokens up itself
};

struct LibraryName {
  std::string_view suffix;  // the last parts of a path; "*mask" is the end of a part
  NameRole role;
  std::string_view library, source;
};

std::span<const LibraryName> library_names();
// Has "encoder.attn_mask" such a suffix? Cost: linear in the rows.
bool has_role(std::string_view path, NameRole role);

}  // namespace plimsoll
