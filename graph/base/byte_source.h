// ByteSource: the bytes of an input, read where one asks. A file is opened once, is never mapped
// (a file that shrinks while it is read is a diagnostic, not a signal) and may be larger than
// memory; nothing but the named file is ever opened.
//
//   auto source = ByteSource::open("model.onnx");
//   if (!source) return tl::make_unexpected(source.error());
//   source->read(0, buffer);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/base/limits.h"

namespace plimsoll {

class ByteSource {
 public:
  // "-" is standard input. E601 no such file, E602 a directory, E603 not permitted, E604 not a
  // regular file, E606 any other failure; E814 where standard input goes on beyond its limit.
  static Result<ByteSource> open(const std::string& path, const Limits& limits = {});
  // All that a descriptor gives: for pipes.
  static Result<ByteSource> drain(int descriptor, std::string name, const Limits& limits = {});
  static ByteSource of(std::string name, std::vector<std::byte> bytes);

  ByteSource(ByteSource&& other) noexcept;
  ByteSource& operator=(ByteSource&& other) noexcept;
  ~ByteSource();

  const std::string& name() const { return name_; }
  uint64_t size() const { return size_; }

  // Fills `out` with the bytes from `offset` on and returns how many there were: fewer than asked
  // only at the end. E605 where the file is shorter than it was, E606 where reading fails.
  Result<size_t> read(uint64_t offset, std::span<std::byte> out) const;
  // E605 where the file is not what it was when it was opened.
  Result<void> check_unchanged() const;

 private:
  ByteSource() = default;
  struct Stamp {
    uint64_t size = 0;
    int64_t seconds = 0, nanoseconds = 0;  // of the last change
    bool operator==(const Stamp&) const = default;
  };
  std::optional<Stamp> stamp() const;
  tl::unexpected<Diagnostics> changed() const;

  std::string name_;
  uint64_t size_ = 0;
  int descriptor_ = -1;  // of a file, else the bytes are here:
  std::vector<std::byte> bytes_;
  Stamp opened_;
};

// SHA-256 of all bytes, or nothing for an input of more than `largest` bytes: hashing those would
// cost more than the estimate.
Result<std::optional<std::string>> sha256_of(const ByteSource& source,
                                             uint64_t largest = uint64_t{16} << 20);

// All of it, for JSON and YAML: E815 beyond their limit.
Result<std::string> whole_text(const ByteSource& source, const Limits& limits);
Result<std::string> read_text(const std::string& path, const Limits& limits = {});

}  // namespace plimsoll
