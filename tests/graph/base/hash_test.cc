#include "graph/base/hash.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace plimsoll;

namespace {
std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
}  // namespace

// FIPS 180-4's examples.
TEST_CASE("sha256 gives the standard's digests") {
  CHECK(sha256_hex(as_bytes("")) ==
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex(as_bytes("abc")) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex(as_bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST_CASE("sha256 in pieces equals sha256 at once, and starts anew afterwards") {
  Sha256 hash;
  hash.update(as_bytes("a"));
  hash.update(as_bytes(""));
  hash.update(as_bytes("bc"));
  CHECK(hash.hex() == sha256_hex(as_bytes("abc")));
  CHECK(hash.hex() == sha256_hex(as_bytes("")));
}
