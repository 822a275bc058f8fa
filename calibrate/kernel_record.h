// kernel_record: a kernel's problem as keys of a measured run ("op", "pass", "dtype", "n", "c",
// ...), which `plimsoll validate` and `plimsoll-calibrate fit` read.
#pragma once

#include <optional>
#include <string>

#include "graph/ir/kernel.h"
#include "graph/json/object.h"
#include "graph/json/writer.h"

namespace plimsoll::calibrate {

// Whether the keys say all of the kernel. They do not of recurrent layers that are a loop of
// operators, convolutions and pools in three dimensions, convolutions padded unevenly, numbers that
// are no floats: these get a label, and nothing runs or prices them from a record.
bool is_told(const KernelAt& kernel);

// Into an object that is open.
void write_kernel(JsonWriter& out, const KernelAt& kernel);
// Equal for equal kernels alone.
std::string key_of(const KernelAt& kernel);

// What write_kernel() wrote of a kernel that is told, among other keys; nothing, and a fault, where
// they are none.
std::optional<KernelAt> read_kernel(JsonObject& object);

}  // namespace plimsoll::calibrate
