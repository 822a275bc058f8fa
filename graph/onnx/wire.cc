#include "graph/onnx/wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "graph/base/varint.h"

namespace plimsoll::onnx {

namespace {

constexpr size_t kLongestVarint = 10;
// A window grows while the reading is sequential, and starts small after a jump: beyond a payload
// lie a few dozen bytes of the next tensor's header, then its payload.
constexpr size_t kSmallWindow = size_t{4} << 10;
constexpr size_t kLargeWindow = size_t{256} << 10;
// Lengths beyond this are nonsense; below it no sum of offset and length overflows.
constexpr uint64_t kLargestLength = uint64_t{1} << 62;

}  // namespace

void Wire::fail(Diagnostics failure) {
  if (failure_) return;
  for (Diagnostic& d : failure) {
    if (d.place.file.empty()) d.place.file = source_.name();
  }
  failure_ = std::move(failure);
}

void Wire::fail(std::string code, std::string message, std::string help) {
  fail(error(std::move(code), std::move(message), {}, std::move(help)).value());
}

std::span<const std::byte> Wire::window(uint64_t offset, size_t wanted) {
  if (failed() || offset >= source_.size()) return {};
  wanted = static_cast<size_t>(std::min<uint64_t>(wanted, source_.size() - offset));
  const uint64_t end = begin_ + buffer_.size();
  if (offset < begin_ || offset + wanted > end) {
    const bool sequential = offset >= begin_ && offset <= end && !buffer_.empty();
    const size_t grown = sequential ? std::min(2 * buffer_.size(), kLargeWindow) : kSmallWindow;
    buffer_.resize(std::max(std::max(grown, kSmallWindow), wanted));
    const auto got = source_.read(offset, buffer_);
    if (!got) {
      buffer_.clear();
      fail(got.error());
      return {};
    }
    buffer_.resize(*got);
    begin_ = offset;
  }
  return std::span<const std::byte>(buffer_).subspan(static_cast<size_t>(offset - begin_));
}

void Wire::count(uint64_t bytes) {
  structure_ += bytes;
  if (structure_ > static_cast<uint64_t>(limits_.model)) {
    fail(over_limit(limits_, "model").value());
  }
}

Message Message::whole(Wire& wire, std::string_view what) {
  return {wire, 0, UINT64_MAX, what};  // the end of the input is the end of the message
}

std::string Message::describe() const {
  std::string text;
  for (const Message* m = this; m; m = m->parent_) {
    if (m != this) text += " of ";
    text += m->what_;
    if (m->index_ >= 0) text += fmt::format(" {}", m->index_);
  }
  return text;
}

void Message::truncated(uint64_t announced) const {
  for (const Message* m = this; m; m = m->parent_) {
    if (m->end_ != UINT64_MAX) announced = std::max(announced, m->end_);
  }
  wire_->fail(
      "E205",
      fmt::format("ends inside {} at byte {} of {}", describe(), wire_->source_.size(), announced),
      "the file is cut short: fetch or export it again");
}

bool Message::varint(uint64_t& at, uint64_t end, uint64_t& value) const {
  auto bytes = wire_->window(at, kLongestVarint);
  if (wire_->failed()) return false;
  if (end - at < bytes.size()) bytes = bytes.first(static_cast<size_t>(end - at));
  const size_t size = std::min(bytes.size(), kLongestVarint);
  if (const size_t read = decode_varint(bytes.first(size), value); read > 0) {
    at += read;
    return true;
  }
  if (size == kLongestVarint) {
    wire_->fail("E205",
                fmt::format("a number of more than 64 bits at byte {}, in {}", at, describe()));
  } else if (at + size >= wire_->source_.size()) {
    truncated(at + size + 1);
  } else {
    wire_->fail("E205", fmt::format("a number at byte {} runs out of {}", at, describe()));
  }
  return false;
}

bool Message::fixed(uint64_t& at, uint64_t end, size_t size, uint64_t& value) const {
  if (end - at < size) {
    wire_->fail("E205", fmt::format("a number at byte {} runs out of {}", at, describe()));
    return false;
  }
  const auto bytes = wire_->window(at, size);
  if (wire_->failed()) return false;
  if (bytes.size() < size) {
    truncated(at + size);
    return false;
  }
  value = 0;
  for (size_t i = 0; i < size; ++i) value |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
  at += size;
  return true;
}

bool Message::next(Field& field) {
  if (wire_->failed()) return false;
  const uint64_t size = wire_->source_.size();
  if (position_ > size || (position_ == size && end_ != UINT64_MAX && end_ > size)) {
    truncated(position_);
    return false;
  }
  if (position_ == end_ || position_ == size) return false;
  field.at = position_;
  uint64_t tag = 0;
  if (!varint(position_, end_, tag)) return false;
  const auto type = static_cast<unsigned>(tag & 7);
  if (type == 3 || type == 4) {
    wire_->fail("E207", fmt::format("group at byte {}; ONNX has none", field.at));
    return false;
  }
  if (type > 5 || (tag >> 3) == 0 || (tag >> 3) >= (uint64_t{1} << 29)) {
    wire_->fail(
        "E204",
        type > 5
            ? fmt::format("not a protobuf message: bad wire type {} at byte {}", type, field.at)
            : fmt::format("not a protobuf message: bad field {} at byte {}", tag >> 3, field.at));
    return false;
  }
  field.number = static_cast<uint32_t>(tag >> 3);
  field.type = static_cast<WireType>(type);
  if (field.type == WireType::kFixed32 || field.type == WireType::kFixed64) {
    if (!fixed(position_, end_, field.type == WireType::kFixed32 ? 4 : 8, field.value)) {
      return false;
    }
  } else if (!varint(position_, end_, field.value)) {
    return false;
  }
  wire_->count(position_ - field.at);
  field.body = position_;
  if (field.type != WireType::kBytes) return !wire_->failed();
  if (field.value > kLargestLength || field.value > end_ - position_) {
    wire_->fail("E205", fmt::format("field {} at byte {} announces {} bytes, more than {} has left",
                                    field.number, field.at, field.value, describe()));
    return false;
  }
  position_ += field.value;
  return !wire_->failed();
}

bool Message::expect(const Field& field, WireType type, std::string_view name) const {
  if (wire_->failed()) return false;
  if (field.type == type) return true;
  wire_->fail("E206", fmt::format("field {} ({}) has wire type {} at byte {}, in {}", field.number,
                                  name, static_cast<int>(field.type), field.at, describe()));
  return false;
}

Message Message::inside(const Field& field, std::string_view name, int64_t index) const {
  const bool sound = expect(field, WireType::kBytes, name);
  Message message(*wire_, field.body, field.body + (sound ? field.value : 0), name);
  message.parent_ = this;
  message.index_ = index;
  return message;
}

int64_t Message::integer(const Field& field, std::string_view name) const {
  return expect(field, WireType::kVarint, name) ? static_cast<int64_t>(field.value) : 0;
}

double Message::real(const Field& field, std::string_view name) const {
  if (!expect(field, WireType::kFixed32, name)) return 0;
  return std::bit_cast<float>(static_cast<uint32_t>(field.value));
}

std::string Message::characters(const Field& field, size_t size) const {
  const auto window = wire_->window(field.body, size);
  if (wire_->failed()) return {};
  if (window.size() < size) {
    truncated(field.body + field.value);
    return {};
  }
  wire_->count(size);
  return {reinterpret_cast<const char*>(window.data()), size};
}

std::string Message::text(const Field& field, std::string_view name) const {
  if (!expect(field, WireType::kBytes, name)) return {};
  if (field.value > static_cast<uint64_t>(wire_->limits_.name)) {
    wire_->fail(over_limit(wire_->limits_, "name", {},
                           fmt::format("the {} of {} has {} bytes, more than {}", name, describe(),
                                       field.value, wire_->limits_.name))
                    .value());
    return {};
  }
  return characters(field, static_cast<size_t>(field.value));
}

std::string Message::clipped(const Field& field, std::string_view name) const {
  if (!expect(field, WireType::kBytes, name)) return {};
  return characters(field, static_cast<size_t>(std::min<uint64_t>(
                               field.value, static_cast<uint64_t>(wire_->limits_.name))));
}

std::optional<std::vector<std::byte>> Message::bytes(const Field& field, size_t most) const {
  if (field.type != WireType::kBytes || field.value > most) return std::nullopt;
  const auto size = static_cast<size_t>(field.value);
  const auto window = wire_->window(field.body, size);
  if (wire_->failed() || window.size() < size) return std::nullopt;  // next() tells of the end
  wire_->count(size);
  return std::vector<std::byte>(window.begin(), window.begin() + static_cast<ptrdiff_t>(size));
}

bool Message::integers(const Field& field, std::string_view name, std::vector<int64_t>& out,
                       size_t most) const {
  if (field.type == WireType::kVarint) {
    if (out.size() >= most) return false;
    out.push_back(static_cast<int64_t>(field.value));
    return true;
  }
  if (!expect(field, WireType::kBytes, name)) return true;
  const uint64_t end = field.body + field.value;
  if (field.value > kLongestVarint * most) return false;
  for (uint64_t at = field.body; at < end;) {
    if (out.size() >= most) return false;
    uint64_t value = 0;
    if (!varint(at, end, value)) return true;
    out.push_back(static_cast<int64_t>(value));
  }
  wire_->count(field.value);
  return true;
}

bool Message::fixed_numbers(const Field& field, std::string_view name, std::vector<double>& out,
                            size_t most, WireType type) const {
  const size_t size = type == WireType::kFixed32 ? 4 : 8;
  const auto number = [&](uint64_t bits) {
    return type == WireType::kFixed32
               ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)))
               : std::bit_cast<double>(bits);
  };
  if (field.type == type) {
    if (out.size() >= most) return false;
    out.push_back(number(field.value));
    return true;
  }
  if (!expect(field, WireType::kBytes, name)) return true;
  const uint64_t end = field.body + field.value;
  if (field.value / size > most - std::min(most, out.size())) return false;
  for (uint64_t at = field.body; at < end;) {
    uint64_t bits = 0;
    if (!fixed(at, end, size, bits)) return true;
    out.push_back(number(bits));
  }
  wire_->count(field.value);
  return true;
}

bool Message::floats(const Field& field, std::string_view name, std::vector<double>& out,
                     size_t most) const {
  return fixed_numbers(field, name, out, most, WireType::kFixed32);
}

bool Message::doubles(const Field& field, std::string_view name, std::vector<double>& out,
                      size_t most) const {
  return fixed_numbers(field, name, out, most, WireType::kFixed64);
}

}  // namespace plimsoll::onnx
