// SHA-256, which names an input in a result.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace plimsoll {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(std::span<const std::byte> bytes);
  // 32 bytes of all bytes so far; starts anew.
  std::string digest();
  // The same in 64 hexadecimal digits.
  std::string hex();

 private:
  struct State;  // keeps the library out of this header
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace plimsoll
