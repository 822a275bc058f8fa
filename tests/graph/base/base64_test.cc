#include "graph/base/base64.h"

#include <doctest/doctest.h>

#include "graph/base/hash.h"

using namespace plimsoll;

// RFC 4648, section 10.
TEST_CASE("base64 is as the standard's examples say") {
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foobar") == "Zm9vYmFy");
  CHECK(base64(std::string_view("\xFB\xFF\x00", 3)) == "+/8A");
}

// NIST's example for SHA-256, "abc".
TEST_CASE("a digest is the bytes that hex() writes") {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(std::string_view("abc"))));
  CHECK(base64(hash.digest()) == "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
}
