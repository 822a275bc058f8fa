#include "hwdb/measured/csv.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace plimsoll;

namespace {

ByteSource source_of(const std::string& text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return ByteSource::of("run.csv", {bytes, bytes + text.size()});
}

using Rows = std::vector<std::vector<std::string>>;

Result<Rows> rows_of(const std::string& text, const Limits& limits = {}) {
  const ByteSource source = source_of(text);
  CsvReader csv(source, limits);
  Rows rows;
  std::vector<std::string> fields;
  while (true) {
    const Result<bool> any = csv.next(fields);
    if (!any) return tl::make_unexpected(any.error());
    if (!*any) return rows;
    rows.push_back(fields);
  }
}

}  // namespace

// Row E3 of the catalogue of bad inputs.
TEST_CASE("csv: line ends, quotes, a byte-order mark") {
  const Rows two = {{"a", "b"}, {"1", "2"}};
  for (const char* text : {"a,b\n1,2\n", "a,b\n1,2", "a,b\r\n1,2\r\n", "a,b\r1,2\r",
                           "\xEF\xBB\xBF"
                           "a,b\n1,2\n",
                           "\n\na,b\n\n1,2\n\n", "\"a\",\"b\"\n1,\"2\"\n"}) {
    CAPTURE(text);
    CHECK(rows_of(text).value() == two);
  }
  CHECK(rows_of("").value().empty());
  CHECK(rows_of("\n\r\n").value().empty());
  CHECK(rows_of("a,,\n").value() == Rows{{"a", "", ""}});
  CHECK(rows_of("\"x,y\"\"z\n\",w\n").value() == Rows{{"x,y\"z\n", "w"}});
  CHECK(rows_of("5\" pipe,1\n").value() == Rows{{"5\" pipe", "1"}});
}

TEST_CASE("csv: quotes that are not closed, lines beyond the limit") {
  const auto open = rows_of("a,b\n\"1,2\n3,4\n");
  REQUIRE_FALSE(open);
  CHECK(open.error()[0].code == "E511");
  CHECK(open.error()[0].place.line == 2);
  CHECK(rows_of("\"a\"b,c\n").error()[0].code == "E511");
  Limits limits;
  limits.line = 100;
  CHECK(rows_of(std::string(100, 'x') + "\n", limits));
  CHECK(rows_of(std::string(200, 'x') + "\n", limits).error()[0].code == "E817");
  CHECK(rows_of("\"" + std::string(200, '\n') + "\"\n", limits).error()[0].code == "E817");
}

TEST_CASE("csv: rows longer than a window, line numbers") {
  const std::string cell(100'000, 'x');
  const ByteSource source = source_of("a\n\n" + cell + "," + cell + "\n\"q\nr\"\nz\n");
  CsvReader csv(source);
  std::vector<std::string> fields;
  REQUIRE(csv.next(fields).value());
  CHECK(csv.line() == 1);
  REQUIRE(csv.next(fields).value());
  CHECK(csv.line() == 3);
  CHECK(fields == std::vector<std::string>{cell, cell});
  REQUIRE(csv.next(fields).value());
  CHECK(csv.line() == 4);
  REQUIRE(csv.next(fields).value());
  CHECK(csv.line() == 6);
  CHECK_FALSE(csv.next(fields).value());
}
