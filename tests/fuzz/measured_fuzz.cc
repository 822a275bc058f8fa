// Any bytes, as a file of measured runs in JSON or CSV. Runs come in their order; what is
// refused must say why.
#include <cstddef>
#include <cstdint>

#include "hwdb/measured/reader.h"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const ByteSource source = ByteSource::of("fuzz", {bytes, bytes + size});
  size_t next = 0;  // the least index that the next run may have; faulty ones are left out
  const auto file = read_measured(source, [&](MeasuredRun&& run) {
    if (run.index < next) __builtin_trap();
    next = run.index + 1;
  });
  if (file ? file->runs < next : file.error().empty()) __builtin_trap();
  return 0;
}
