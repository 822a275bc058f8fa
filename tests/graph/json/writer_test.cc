#include "graph/json/writer.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "graph/json/reader.h"

using namespace plimsoll;

TEST_CASE("JSON writer: compact and indented") {
  const auto write = [](JsonWriter out) {
    out.begin_object();
    out.key("a").integer(-1).key("b").begin_array().boolean(true).null().real(0.1).end_array();
    out.key("c").begin_object().end_object().key("d").begin_array().end_array();
    out.key("e").string("x").end_object();
    return out.take();
  };
  CHECK(write(JsonWriter()) == R"({"a":-1,"b":[true,null,0.1],"c":{},"d":[],"e":"x"})");
  CHECK(write(JsonWriter(JsonWriter::Layout::kIndented)) ==
        "{\n  \"a\": -1,\n  \"b\": [\n    true,\n    null,\n    0.1\n  ],\n  \"c\": {},\n"
        "  \"d\": [],\n  \"e\": \"x\"\n}");
}

TEST_CASE("JSON writer: doubles read back bit for bit, what is no number is null") {
  for (const double value : {0.1, 1e300, 5e-324, 1.0 / 3, -0.0, 123456789.125, 1e21}) {
    JsonWriter out;
    const std::string text = out.begin_array().real(value).end_array().take();
    const auto read = read_json(text, "f");
    REQUIRE(read);
    const double back = *(*read->list())[0].real();
    CHECK(back == value);
    CHECK(std::signbit(back) == std::signbit(value));
  }
  JsonWriter out;
  CHECK(out.real(std::numeric_limits<double>::quiet_NaN()).take() == "null");
  CHECK(out.real(std::numeric_limits<double>::infinity()).take() == "null");
}

TEST_CASE("JSON writer: hostile text stays a string") {
  CHECK(json_string("a\"b\\c\n\x1b[2J") == "\"a\\\"b\\\\c\\n\\u001b[2J\"");
  CHECK(json_string("</script>") == "\"\\u003c/script>\"");
  CHECK(json_string("\xE2\x80\xA8") == "\"\\u2028\"");
  CHECK(json_string("\xFF") == "\"\xEF\xBF\xBD\"");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const auto read = read_json(json_string(all), "f");
  REQUIRE(read);
  CHECK(read->string()->substr(0, 128) == all.substr(0, 128));
}
