#include "graph/base/dtype.h"

#include <array>

namespace plimsoll {
namespace {

struct DTypeRow {
  std::string_view name;
  int bits;
  bool is_float;
};

constexpr std::array<DTypeRow, kDTypeCount> kDTypeRows = {{
    {"undefined", 0, false}, {"f32", 32, true},   {"u8", 8, false},        {"i8", 8, false},
    {"u16", 16, false},      {"i16", 16, false},  {"i32", 32, false},      {"i64", 64, false},
    {"string", 0, false},    {"bool", 8, false},  {"f16", 16, true},       {"f64", 64, true},
    {"u32", 32, false},      {"u64", 64, false},  {"c64", 64, false},      {"c128", 128, false},
    {"bf16", 16, true},      {"f8e4m3", 8, true}, {"f8e4m3fnuz", 8, true}, {"f8e5m2", 8, true},
    {"f8e5m2fnuz", 8, true}, {"u4", 4, false},    {"i4", 4, false},        {"f4e2m1", 4, true},
}};

const DTypeRow& row(DType dtype) { return kDTypeRows[static_cast<size_t>(dtype)]; }

}  // namespace

int bits(DType dtype) { return row(dtype).bits; }
bool is_float(DType dtype) { return row(dtype).is_float; }
std::string_view short_name(DType dtype) { return row(dtype).name; }

std::optional<DType> dtype_from_short_name(std::string_view name) {
  for (size_t i = 1; i < kDTypeRows.size(); ++i) {
    if (kDTypeRows[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::optional<DType> dtype_from_onnx(int64_t number) {
  if (number <= 0 || number >= kDTypeCount) return std::nullopt;
  return static_cast<DType>(number);
}

}  // namespace plimsoll
