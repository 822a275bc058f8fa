#include "hwdb/measured/pickle.h"

#include <array>
#include <string_view>

namespace plimsoll {

Result<void> refuse_pickle(const ByteSource& source) {
  std::array<std::byte, 4> start{};
  const Result<size_t> got = source.read(0, start);
  if (!got) return tl::make_unexpected(got.error());
  const std::string_view head(reinterpret_cast<const char*>(start.data()), *got);
  // A pickle begins with the protocol opcode, newer PyTorch files are zip archives of pickles.
  if (!head.starts_with('\x80') && !head.starts_with("PK\x03\x04")) return {};
  return error("E530", "is a pickle; pickle files are code and are never read",
               {source.name(), 0, 0, {}},
               "convert it: python -c 'import json,pickle,sys; json.dump(pickle.load(open("
               "sys.argv[1],\"rb\")), sys.stdout)' FILE");
}

}  // namespace plimsoll
