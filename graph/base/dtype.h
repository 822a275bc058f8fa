// Element types, as ONNX numbers them (onnx.proto, TensorProto.DataType), with their size in bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace plimsoll {

enum class DType : uint8_t {
  kUndefined = 0,
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBFloat16 = 16,
  kFloat8E4M3 = 17,
  kFloat8E4M3Fnuz = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2Fnuz = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
};
inline constexpr int kDTypeCount = 24;

// Bits of one element; 0 for kUndefined and kString, whose size is not known.
int bits(DType dtype);
bool is_float(DType dtype);
// "f32", "i64", "bool": the short names of the text notation.
std::string_view short_name(DType dtype);
std::optional<DType> dtype_from_short_name(std::string_view name);
// The type an ONNX data_type number means, if it is one we know.
std::optional<DType> dtype_from_onnx(int64_t number);

}  // namespace plimsoll
