#include "hwdb/quantity.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <string>
#include <utility>

using namespace plimsoll;

template <class A, class B>
concept Divides = requires(A a, B b) {
  a / b;
};
template <class A, class B>
concept Adds = requires(A a, B b) {
  a + b;
};

static_assert(Divides<Bytes, BytesPerSecond>);
static_assert(!Divides<Bytes, FlopPerSecond>);
static_assert(!Adds<Seconds, Hertz>);
static_assert(!std::convertible_to<BytesPerSecond, FlopPerSecond>);

TEST_CASE("units: work divided by a rate is a time") {
  CHECK((Bytes{1000} / BytesPerSecond{500.0}).value == 2.0);
  CHECK((Bytes{1000} / Seconds{2}).value == 500.0);
  CHECK(Bytes{6} / Bytes{4} == 1.5);
}

TEST_CASE("quantity: SI and IEC prefixes, all of them, exact to the byte") {
  const std::pair<std::string, int64_t> sizes[] = {
      {"", 1},
      {"k", 1000},
      {"K", 1000},
      {"M", 1000000},
      {"G", 1000000000},
      {"T", 1000000000000},
      {"P", 1000000000000000},
      {"E", 1000000000000000000},
      {"Ki", int64_t{1} << 10},
      {"Mi", int64_t{1} << 20},
      {"Gi", int64_t{1} << 30},
      {"Ti", int64_t{1} << 40},
      {"Pi", int64_t{1} << 50},
      {"Ei", int64_t{1} << 60},
  };
  for (const auto& [given, scale] : sizes) {
    const std::string prefix = given;
    CAPTURE(prefix);
    for (const char* blank : {"", " "}) {
      const auto size = parse_bytes("3" + (blank + prefix) + "B");
      REQUIRE(size);
      CHECK(size->value == 3 * scale);
    }
    const auto rate = parse_bytes_per_second("3 " + prefix + "B/s");
    REQUIRE(rate);
    CHECK(rate->value == 3 * static_cast<double>(scale));
    const auto bits = parse_bytes_per_second("8 " + prefix + "bit/s");
    REQUIRE(bits);
    CHECK(bits->value == static_cast<double>(scale));
    if (prefix.ends_with("i")) {
      CHECK_FALSE(parse_flop_per_second("3 " + prefix + "FLOP/s"));
      CHECK_FALSE(parse_hertz("3 " + prefix + "Hz"));
      continue;
    }
    CHECK(parse_flop_per_second("3 " + prefix + "FLOP/s")->value == 3 * static_cast<double>(scale));
    CHECK(parse_flop_per_second("3 " + prefix + "OP/s")->value == 3 * static_cast<double>(scale));
    CHECK(parse_hertz("3 " + prefix + "Hz")->value == 3 * static_cast<double>(scale));
    CHECK(parse_watts("3 " + prefix + "W")->value == 3 * static_cast<double>(scale));
  }
  CHECK(parse_seconds("3 s")->value == 3.0);
  CHECK(parse_seconds("3 ms")->value == 3e-3);
  CHECK(parse_seconds("3us")->value == 3e-6);
  CHECK(parse_seconds("3 ns")->value == 3e-9);
  CHECK(parse_watts("3 mW")->value == 3e-3);
}

TEST_CASE("quantity: the words of datasheets") {
  CHECK(parse_bytes_per_second("243.3 GB/s")->value == 243.3e9);
  CHECK(parse_flop_per_second("5.3 TFLOP/s")->value == 5.3e12);
  CHECK(parse_hertz("1480 MHz")->value == 1480e6);
  CHECK(parse_bytes("8119 MiB")->value == int64_t{8119} << 20);
  CHECK(parse_bytes("1.5GiB")->value == 1610612736);
  CHECK(parse_bytes("0.1 GiB")->value == 107374182);  // 107374182.4
  CHECK(parse_bytes("24GB")->value == 24000000000);
  CHECK(parse_bytes("24GiB")->value == 25769803776);
}

TEST_CASE("quantity: what is ambiguous, of another kind or does not fit is refused") {
  for (const char* text : {"",
                           " ",
                           "24G",
                           "24K",
                           "24",
                           "B",
                           "GB",
                           "-1GB",
                           "+1GB",
                           "1e3 B",
                           "0x10 B",
                           "010 B",
                           ".5 GB",
                           "5. GB",
                           "1.2.3 GB",
                           "1 XB",
                           "1 mB",
                           "1  GB",
                           "1 GB ",
                           " 1 GB",
                           "24 gb",
                           "24 Gb",
                           "1 GB/s",
                           "5 EiB",
                           "99999999EiB",
                           "9999999999999999999 B",
                           "1,5 GB",
                           "nan",
                           "inf B",
                           "1 G iB"}) {
    CAPTURE(text);
    const auto size = parse_bytes(text);
    REQUIRE_FALSE(size);
    CHECK(size.error()[0].code == "E401");
  }
  CHECK_FALSE(parse_seconds("1 ks"));
  CHECK_FALSE(parse_hertz("1 mHz"));
  CHECK_FALSE(parse_flop_per_second("1 GB/s"));
  CHECK_FALSE(parse_bytes_per_second("1 GFLOP/s"));
  CHECK(parse_bytes("4 EiB")->value == int64_t{1} << 62);
}

// Row F4 of the catalogue of bad inputs.
TEST_CASE("quantity: sizes on the command line") {
  CHECK(parse_size("24GB")->value == 24000000000);
  CHECK(parse_size("24gb")->value == 24000000000);
  CHECK(parse_size("24 GiB")->value == 25769803776);
  CHECK(parse_size("24gib")->value == 25769803776);
  CHECK(parse_size("512mib")->value == 536870912);
  CHECK(parse_size("1.5GiB")->value == 1610612736);
  CHECK(parse_size("0")->value == 0);
  for (const char* text : {"24G", "24g", "24", "-1GB", "99999999EiB", "24Gb", "24GIB", "", "nan"}) {
    CAPTURE(text);
    const auto size = parse_size(text);
    REQUIRE_FALSE(size);
    CHECK(size.error()[0].code == "E121");
  }
  CHECK(parse_size("24G").error()[0].message ==
        "\"24G\" is not a size: ambiguous; write 24GB (decimal) or 24GiB (binary)");
  for (const char* text : {"nan", "inf", "on", "1e400"}) {
    CAPTURE(text);
    CHECK(parse_size(text).error()[0].message.starts_with(fmt::format("\"{}\" is not", text)));
  }
}
