// SHA-256 of graph/base/hash.h where there is no nettle: of bytes that are kept until it is asked.
#include <utility>
#include <vector>

#include "graph/base/hash.h"
#include "graph/wasm/standard.h"

namespace plimsoll {

struct Sha256::State {
  std::vector<std::byte> bytes{};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::span<const std::byte> bytes) {
  state_->bytes.insert(state_->bytes.end(), bytes.begin(), bytes.end());
}

std::string Sha256::digest() {
  constexpr size_t kBytes = 32;
  std::string digest(kBytes, '\0');
  const std::vector<std::byte> bytes = std::exchange(state_->bytes, {});
  plimsoll_sha256(bytes.data(), bytes.size(), reinterpret_cast<uint8_t*>(digest.data()));
  return digest;
}

}  // namespace plimsoll
