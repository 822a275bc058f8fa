// An ONNX file as a tree of fields that can be changed and written again: just enough of protobuf's
// wire format to know which fields hold messages. For tests that mutate models.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::test {

// Messages of onnx.proto; kBytes for text, payload and packed numbers.
enum class Kind : uint8_t {
  kBytes,
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kTensor,
  kValue,
  kType,
  kTensorType,
  kShape,
  kDim,
  kFunction
};

// Which message field `field` of `parent` is.
inline Kind child_kind(Kind parent, uint32_t field) {
  struct Row {
    Kind parent;
    uint32_t field;
    Kind child;
  };
  static constexpr std::array kRows = {
      Row{Kind::kModel, 7, Kind::kGraph},      Row{Kind::kModel, 25, Kind::kFunction},
      Row{Kind::kGraph, 1, Kind::kNode},       Row{Kind::kGraph, 5, Kind::kTensor},
      Row{Kind::kGraph, 11, Kind::kValue},     Row{Kind::kGraph, 12, Kind::kValue},
      Row{Kind::kGraph, 13, Kind::kValue},     Row{Kind::kNode, 5, Kind::kAttribute},
      Row{Kind::kAttribute, 5, Kind::kTensor}, Row{Kind::kAttribute, 6, Kind::kGraph},
      Row{Kind::kValue, 2, Kind::kType},       Row{Kind::kType, 1, Kind::kTensorType},
      Row{Kind::kTensorType, 2, Kind::kShape}, Row{Kind::kShape, 1, Kind::kDim},
      Row{Kind::kFunction, 7, Kind::kNode}};
  for (const Row& row : kRows) {
    if (row.parent == parent && row.field == field) return row.child;
  }
  return Kind::kBytes;
}

class Message {
 public:
  struct Field {
    uint32_t number = 0, wire = 0;      // 0 varint, 1 and 5 fixed, 2 with a length
    uint64_t value = 0;                 // of a varint
    std::string bytes = {};             // of all else that is no message
    std::vector<Message> message = {};  // one, or none
  };

  explicit Message(Kind what) : kind(what) {}
  // Nothing where `text` is no such message.
  static std::optional<Message> parse(std::string_view text, Kind of) {
    Message out(of);
    while (!text.empty()) {
      Field f;
      uint64_t tag = 0, length = 0;
      if (!varint(text, tag)) return std::nullopt;
      f.number = static_cast<uint32_t>(tag >> 3);
      f.wire = tag & 7;
      if (f.wire == 0 && !varint(text, f.value)) return std::nullopt;
      if (f.wire == 2 && !varint(text, length)) return std::nullopt;
      if (f.wire == 1 || f.wire == 5) length = f.wire == 1 ? 8 : 4;
      if (f.wire == 3 || f.wire == 4 || f.wire > 5 || length > text.size()) return std::nullopt;
      f.bytes = text.substr(0, length);
      text.remove_prefix(length);
      const Kind child = f.wire == 2 ? child_kind(of, f.number) : Kind::kBytes;
      if (child != Kind::kBytes) {
        auto inner = parse(std::exchange(f.bytes, {}), child);
        if (!inner) return std::nullopt;
        f.message.push_back(std::move(*inner));
      }
      out.fields.push_back(std::move(f));
    }
    return out;
  }

  std::string bytes() const {
    std::string out;
    for (const Field& f : fields) {
      put(out, (uint64_t{f.number} << 3) | f.wire);
      if (f.wire == 0) put(out, f.value);
      const std::string content = f.message.empty() ? f.bytes : f.message[0].bytes();
      if (f.wire == 2) put(out, content.size());
      out += content;
    }
    return out;
  }

  std::vector<size_t> all(uint32_t number) const {
    std::vector<size_t> places;
    for (size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].number == number) places.push_back(i);
    }
    return places;
  }
  Field* find(uint32_t number) {
    for (Field& f : fields) {
      if (f.number == number) return &f;
    }
    return nullptr;
  }
  std::string text(uint32_t number) const {
    for (const Field& f : fields) {
      if (f.number == number) return f.bytes;
    }
    return {};
  }
  Message& add(uint32_t number, Message message) {
    Field f{.number = number, .wire = 2, .bytes = {}, .message = {}};
    f.message.push_back(std::move(message));
    fields.push_back(std::move(f));
    return *this;
  }
  Message& add(uint32_t number, std::string_view text) {
    fields.push_back({.number = number, .wire = 2, .bytes = std::string(text), .message = {}});
    return *this;
  }
  Message& add(uint32_t number, uint64_t value) {
    fields.push_back({.number = number, .wire = 0, .value = value, .bytes = {}, .message = {}});
    return *this;
  }

  Kind kind;
  std::vector<Field> fields;

 private:
  static bool varint(std::string_view& text, uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 70 && !text.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(text.front());
      text.remove_prefix(1);
      if (shift < 64) value |= uint64_t{byte & 127U} << shift;
      if (byte < 128) return true;
    }
    return false;
  }
  static void put(std::string& out, uint64_t value) {
    for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
    out += static_cast<char>(value);
  }
};

}  // namespace plimsoll::test
