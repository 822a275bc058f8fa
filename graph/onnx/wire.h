// The protobuf wire format, read where it lies: a message is a range of bytes of a ByteSource, its
// fields are visited in order, and what nobody asks for is passed over by seeking. So a model of
// gigabytes costs what its structure costs. Varints are decoded by protobuf (graph/base/varint.h);
// offsets are 64 bits wide, where libprotobuf's are 32.
//
// Errors stick: after the first one every read says "no more", and the caller asks once.
//
//   Wire wire(source, limits);
//   Message model = Message::whole(wire, "model");
//   for (Field field; model.next(field);) {
//     if (field.number == 7) { Message graph = model.inside(field, "graph"); ... }
//   }
//   if (wire.failed()) return wire.failure();
//
// E204 not a protobuf message, E205 the input ends inside a message or a length runs out of one,
// E206 a field of the wrong wire type, E207 a group, E605 and E606 of ByteSource, E805 a name too
// long, E808 too much structure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/byte_source.h"
#include "graph/base/limits.h"

namespace plimsoll::onnx {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t at = 0;     // offset of its tag
  uint64_t value = 0;  // the number, or the length of what follows
  uint64_t body = 0;   // offset of the first byte, of kBytes
};

class Wire {
 public:
  Wire(const ByteSource& source, const Limits& limits) : source_(source), limits_(limits) {}

  const Limits& limits() const { return limits_; }
  bool failed() const { return failure_.has_value(); }
  tl::unexpected<Diagnostics> failure() const { return tl::make_unexpected(*failure_); }
  // Keeps the first failure. `forget` serves a trial that is repeated in earnest.
  void fail(Diagnostics failure);
  void fail(std::string code, std::string message, std::string help = {});
  void forget() { failure_.reset(); }

 private:
  friend class Message;
  // At least `wanted` bytes from `offset` on, fewer only at the end of the input, more where they
  // are at hand. Empty after a failure.
  std::span<const std::byte> window(uint64_t offset, size_t wanted);
  void count(uint64_t bytes);

  const ByteSource& source_;
  Limits limits_;
  std::optional<Diagnostics> failure_;
  std::vector<std::byte> buffer_;
  uint64_t begin_ = 0;  // of the buffer, in the source
  uint64_t structure_ = 0;
};

class Message {
 public:
  // The whole input as one message.
  static Message whole(Wire& wire, std::string_view what);
  // A part of the input whose place is known from an earlier visit. `what` must outlive it.
  Message(Wire& wire, uint64_t begin, uint64_t end, std::string_view what)
      : wire_(&wire), position_(begin), end_(end), what_(what) {}

  // The next field, or false at the end or after a failure.
  bool next(Field& field);

  // The value of a field. `name` is the field's, for E206.
  Message inside(const Field& field, std::string_view name, int64_t index = -1) const;
  int64_t integer(const Field& field, std::string_view name) const;
  double real(const Field& field, std::string_view name) const;       // a float
  std::string text(const Field& field, std::string_view name) const;  // E805 if too long
  // The same, cut at the limit where it is longer: for what nothing depends on.
  std::string clipped(const Field& field, std::string_view name) const;

  // Appends a repeated number, packed or not, up to `most` in all; false if there were more.
  bool integers(const Field& field, std::string_view name, std::vector<int64_t>& out,
                size_t most) const;
  bool floats(const Field& field, std::string_view name, std::vector<double>& out,
              size_t most) const;
  bool doubles(const Field& field, std::string_view name, std::vector<double>& out,
               size_t most) const;
  // The bytes of a field, if they are at most `most`.
  std::optional<std::vector<std::byte>> bytes(const Field& field, size_t most) const;

  uint64_t position() const { return position_; }
  uint64_t end() const { return end_; }
  // "attribute 2 of node 3 of graph"
  std::string describe() const;

 private:
  bool expect(const Field& field, WireType type, std::string_view name) const;
  bool varint(uint64_t& at, uint64_t end, uint64_t& value) const;
  bool fixed(uint64_t& at, uint64_t end, size_t size, uint64_t& value) const;
  bool fixed_numbers(const Field& field, std::string_view name, std::vector<double>& out,
                     size_t most, WireType type) const;
  std::string characters(const Field& field, size_t size) const;
  void truncated(uint64_t announced) const;

  Wire* wire_;
  const Message* parent_ = nullptr;
  uint64_t position_ = 0, end_ = 0;
  std::string_view what_;
  int64_t index_ = -1;
};

}  // namespace plimsoll::onnx
