#include "hwdb/measured/csv.h"

#include <optional>

namespace plimsoll {
namespace {

constexpr size_t kWindow = size_t{64} << 10;

}  // namespace

int CsvReader::peek() {
  if (at_ == window_.size()) {
    window_.resize(kWindow);
    const Result<size_t> got = source_.read(offset_, window_);
    if (!got) fault_ = got.error();
    window_.resize(got ? *got : 0);
    at_ = offset_ == 0 && window_.size() >= 3 && window_[0] == std::byte{0xEF} &&
                  window_[1] == std::byte{0xBB} && window_[2] == std::byte{0xBF}
              ? 3
              : 0;
    offset_ += window_.size();
  }
  return at_ == window_.size() ? -1 : std::to_integer<int>(window_[at_]);
}

int CsvReader::take() {
  const int byte = peek();
  if (byte < 0) return byte;
  ++at_;
  ++row_bytes_;
  if (byte == '\r' && peek() == '\n') ++at_;
  if (byte == '\r' || byte == '\n') ++line_;
  return byte == '\r' ? '\n' : byte;
}

Result<void> CsvReader::quoted(std::string& field) {
  const int opened = line_;
  while (row_bytes_ <= limits_.line) {
    const int byte = take();
    if (byte < 0) return error("E511", "a quote is not closed", place(opened));
    if (byte != '"') {
      field += static_cast<char>(byte);
    } else if (peek() == '"') {
      field += static_cast<char>(take());
    } else {
      const int after = peek();
      if (after < 0 || after == ',' || after == '\n' || after == '\r') return {};
      return error("E511", "a closing quote must be followed by a comma", place(line_),
                   "write a quote inside a quoted field twice");
    }
  }
  return over_limit(limits_, "line", place(opened));
}

Result<bool> CsvReader::next(std::vector<std::string>& fields) {
  fields.assign(1, {});
  row_bytes_ = 0;
  while (peek() == '\n' || peek() == '\r') take();
  row_line_ = line_;
  bool any = false;
  for (int byte = 0; (byte = take()) >= 0 && byte != '\n';) {
    any = true;
    if (row_bytes_ > limits_.line) return over_limit(limits_, "line", place(row_line_));
    if (byte == ',') {
      fields.emplace_back();
    } else if (byte == '"' && fields.back().empty()) {
      if (Result<void> closed = quoted(fields.back()); !closed) {
        return tl::make_unexpected(closed.error());
      }
    } else {
      fields.back() += static_cast<char>(byte);
    }
  }
  if (fault_) return tl::make_unexpected(*fault_);
  return any;
}

}  // namespace plimsoll
