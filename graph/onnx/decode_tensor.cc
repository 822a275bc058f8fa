// TensorProto: type, extents and, where small, contents.
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "graph/base/checked.h"
#include "graph/ir/module_path.h"
#include "graph/onnx/decode.h"

namespace plimsoll::onnx {
namespace {

// The product of the extents, or nothing where one is negative or they overflow.
std::optional<int64_t> element_count(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) {
    const auto product = checked_multiply(count, dim);
    if (dim < 0 || !product) return std::nullopt;
    count = *product;
  }
  return count;
}

double from_float16(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  double value = 0;
  if (exponent == 31) {
    value = fraction ? std::nan("") : HUGE_VAL;
  } else {
    value = exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
  }
  return bits & 0x8000 ? -value : value;
}

double from_bfloat16(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

// The little-endian numbers of raw_data.
template <class T, class Out>
bool unpack(const std::vector<std::byte>& raw, std::vector<Out>& out) {
  out.reserve(raw.size() / sizeof(T));
  for (size_t at = 0; at + sizeof(T) <= raw.size(); at += sizeof(T)) {
    T value{};
    std::memcpy(&value, raw.data() + at, sizeof value);
    out.push_back(static_cast<Out>(value));
  }
  return true;
}

// False for types whose contents are not read.
bool unpack_raw(DType dtype, const std::vector<std::byte>& raw, Contents& contents) {
  std::vector<int64_t> halves;
  switch (dtype) {
    case DType::kBool:
    case DType::kUint8:
      return unpack<uint8_t>(raw, contents.integers);
    case DType::kInt8:
      return unpack<int8_t>(raw, contents.integers);
    case DType::kUint16:
      return unpack<uint16_t>(raw, contents.integers);
    case DType::kInt16:
      return unpack<int16_t>(raw, contents.integers);
    case DType::kUint32:
      return unpack<uint32_t>(raw, contents.integers);
    case DType::kInt32:
      return unpack<int32_t>(raw, contents.integers);
    case DType::kUint64:
    case DType::kInt64:
      return unpack<int64_t>(raw, contents.integers);
    case DType::kFloat32:
      return unpack<float>(raw, contents.reals);
    case DType::kFloat64:
      return unpack<double>(raw, contents.reals);
    case DType::kFloat16:
    case DType::kBFloat16:
      unpack<uint16_t>(raw, halves);
      break;
    default:
      return false;
  }
  for (const int64_t half : halves) {
    const auto bits = static_cast<uint16_t>(half);
    contents.reals.push_back(dtype == DType::kFloat16 ? from_float16(bits) : from_bfloat16(bits));
  }
  return true;
}

// What the data fields of one tensor hold, before its type is known: fields may come in any order.
struct Data {
  std::vector<int64_t> integers;
  std::vector<double> reals;
  std::optional<Field> raw;
  bool whole = true;  // nothing was left out
  bool any = false;
  bool external = false;
};

bool read_data(const Message& message, const Field& field, Data& data) {
  switch (field.number) {
    case 4:
      data.whole &= message.floats(field, "float_data", data.reals, kKeptReals);
      break;
    case 5:
      data.whole &= message.integers(field, "int32_data", data.integers, kKeptIntegers);
      break;
    case 7:
      data.whole &= message.integers(field, "int64_data", data.integers, kKeptIntegers);
      break;
    case 10:
      data.whole &= message.doubles(field, "double_data", data.reals, kKeptReals);
      break;
    case 11:
      data.whole &= message.integers(field, "uint64_data", data.integers, kKeptIntegers);
      break;
    case 9:
      data.raw = field;
      break;
    case 6:
      break;  // string_data: held, not read
    default:
      return false;
  }
  data.any |= field.type != WireType::kBytes || field.value > 0;
  return true;
}

// int32_data carries the bits of 16-bit floats.
void halves_to_reals(DType dtype, Data& data) {
  if (dtype != DType::kFloat16 && dtype != DType::kBFloat16) return;
  for (const int64_t half : data.integers) {
    const auto bits = static_cast<uint16_t>(half);
    data.reals.push_back(dtype == DType::kFloat16 ? from_float16(bits) : from_bfloat16(bits));
  }
  data.integers.clear();
}

void set_contents(const Message& message, Data& data, TensorSpec& tensor) {
  const auto dtype = dtype_from_onnx(tensor.data_type);
  const auto count = element_count(tensor.dims);
  if (!dtype || !count || bits(*dtype) == 0) return;
  if (data.external) return;
  const auto bits_held = checked_multiply(*count, bits(*dtype));
  tensor.lacks_data =
      *count > 0 && (!data.any || (data.raw && bits_held &&
                                   static_cast<int64_t>(data.raw->value) < *bits_held / 8));
  const auto most = static_cast<int64_t>(is_float(*dtype) ? kKeptReals : kKeptIntegers);
  if (*count > most || !data.whole) return;
  Contents contents;
  if (data.raw) {
    const auto raw = message.bytes(*data.raw, static_cast<size_t>(most) * 8);
    if (!raw || !unpack_raw(*dtype, *raw, contents)) return;
  } else {
    halves_to_reals(*dtype, data);
    contents.integers = std::move(data.integers);
    contents.reals = std::move(data.reals);
  }
  const size_t held = is_float(*dtype) ? contents.reals.size() : contents.integers.size();
  if (held != static_cast<size_t>(*count)) return;
  tensor.contents = std::make_shared<Contents>(std::move(contents));
}

bool is_count(std::string_view text) { return is_number(text) && text.size() < 19; }

// External data is never opened, nor its location joined to a path; what is odd is told, since
// another reader of the file may be less careful.
void read_external(Message entry, TensorSpec& tensor) {
  std::string key, value;
  for (Field field; entry.next(field);) {
    if (field.number == 1) key = entry.clipped(field, "key");
    if (field.number == 2) value = entry.clipped(field, "value");
  }
  if (key == "location") {
    tensor.odd_location |= value.empty() || value.size() > 255 || value.front() == '/' ||
                           value.find("..") != std::string::npos ||
                           value.find_first_of(std::string_view("\\:\0", 3)) != std::string::npos;
  } else if (key == "offset" || key == "length") {
    tensor.odd_entry |= !is_count(value);
  } else {
    tensor.odd_entry |= key != "checksum";
  }
}

}  // namespace

TensorSpec decode_tensor(Wire& wire, Message message) {
  TensorSpec tensor;
  Data data;
  const auto rank = static_cast<size_t>(wire.limits().rank);
  for (Field field; message.next(field);) {
    if (read_data(message, field, data)) continue;
    switch (field.number) {
      case 1:
        if (!message.integers(field, "dims", tensor.dims, rank)) {
          wire.fail(
              over_limit(wire.limits(), "rank", {.file = {}, .node = message.describe()}).value());
        }
        break;
      case 2:
        tensor.data_type = message.integer(field, "data_type");
        break;
      case 8:
        tensor.name = message.text(field, "name");
        break;
      case 13:
        data.external = true;
        read_external(message.inside(field, "external_data"), tensor);
        break;
      case 14:
        data.external |= message.integer(field, "data_location") == 1;
        break;
      default:
        break;
    }
  }
  if (!wire.failed()) set_contents(message, data, tensor);
  return tensor;
}

TensorSpec decode_sparse(Wire& wire, Message message) {
  TensorSpec tensor;
  std::vector<int64_t> dims;
  for (Field field; message.next(field);) {
    if (field.number == 1) tensor = decode_tensor(wire, message.inside(field, "values"));
    if (field.number == 3 &&
        !message.integers(field, "dims", dims, static_cast<size_t>(wire.limits().rank))) {
      wire.fail(over_limit(wire.limits(), "rank").value());
    }
  }
  tensor.dims = std::move(dims);
  tensor.contents = nullptr;
  return tensor;
}

}  // namespace plimsoll::onnx
