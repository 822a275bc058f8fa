#include "graph/base/hash.h"

#include <nettle/sha2.h>

#include <cstdint>

namespace plimsoll {

struct Sha256::State {
  sha256_ctx context{};
};

Sha256::Sha256() : state_(std::make_unique<State>()) { sha256_init(&state_->context); }
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::span<const std::byte> bytes) {
  sha256_update(&state_->context, bytes.size(), reinterpret_cast<const uint8_t*>(bytes.data()));
}

std::string Sha256::digest() {
  std::string bytes(SHA256_DIGEST_SIZE, '\0');
  sha256_digest(&state_->context, bytes.size(), reinterpret_cast<uint8_t*>(bytes.data()));
  return bytes;
}

}  // namespace plimsoll
