// Tables fit a page: names are cut, then columns go by rank; nothing of a name is taken for markup.
#include "estimator/app/report/table.h"

#include <doctest/doctest.h>

namespace plimsoll {
namespace {

Table cards() {
  Table table({{"gpu", {}, Column::kName},
               {"peak", "device_bytes"},
               {"step", "step_ns", Column::kFigure, 2},
               {"", "verdict", Column::kRemark, 1}});
  table.add({{"tesla-t4"}, {"3.3 GiB", "3543348019"}, {"305 ms", "305000000"}, {"", "fits"}});
  table.add({{"a-card-whose-name-goes-on-and-on"},
             {"36.9 GiB", "39621073305"},
             {"3.64 s", "3640000000"},
             {"does not fit", "does_not_fit"}},
            Tone::kBad);
  return table;
}

}  // namespace

TEST_CASE("table: names stand left, figures right, no line ends in a space") {
  CHECK(cards().text({.width = 80}) ==
        "gpu                                   peak    step\n"
        "tesla-t4                           3.3 GiB  305 ms\n"
        "a-card-whose-name-goes-on-and-on  36.9 GiB  3.64 s  does not fit\n");
  CHECK(cards().text({.width = 80}, 2).starts_with("  gpu   "));
}

TEST_CASE("table: on a narrow page names are cut, then columns of the highest rank go") {
  CHECK(cards().text({.width = 62}) ==
        "gpu                                 peak    step\n"
        "tesla-t4                         3.3 GiB  305 ms\n"
        "a-card-whose-...goes-on-and-on  36.9 GiB  3.64 s  does not fit\n");
  CHECK(cards().text({.width = 54}) ==
        "gpu                                 peak\n"
        "tesla-t4                         3.3 GiB\n"
        "a-card-whose-...goes-on-and-on  36.9 GiB  does not fit\n"
        "(1 more column with --wide)\n");
  CHECK(cards().text({.width = 24}) ==
        "gpu                 peak\n"
        "tesla-t4         3.3 GiB\n"
        "a-car...and-on  36.9 GiB\n"
        "(2 more columns with --wide)\n");
}

TEST_CASE("table: a tone colours a row where the page has colours") {
  const std::string text = cards().text({.width = 80, .coloured = true});
  CHECK(text.find("\x1b[31ma-card-whose") != text.npos);
  CHECK(text.find("\x1b[0m\n") != text.npos);
  CHECK(cards().text({.width = 80}).find('\x1b') == std::string::npos);
}

TEST_CASE("table: flags go on below where the page is narrow") {
  Table table({{"flags", {}, Column::kFlags}, {"peak"}});
  table.add({{"--precision amp-fp16 --offload activations --batch 250"}, {"7 GiB"}});
  const std::string space(13, ' ');
  CHECK(table.text({.width = 40}) == "flags" + std::string(31, ' ') + "peak\n" +
                                         "--precision amp-fp16" + space + "  7 GiB\n" +
                                         "  --offload activations\n  --batch 250\n");
  CHECK(table.text({.width = 80}).find("--batch 250  7 GiB") != std::string::npos);
}

TEST_CASE("table: CSV has keys and plain numbers, quoted where they must be") {
  Table table({{"kernel", {}, Column::kName}, {"total", "total_ns"}});
  table.add({{"conv, \"3x3\""}, {"8.6 ms", "8600000"}});
  table.add({{"=HYPERLINK(1)"}, {"-1"}});
  CHECK(table.csv() == "kernel,total_ns\n\"conv, \"\"3x3\"\"\",8600000\n'=HYPERLINK(1),-1\n");
}

TEST_CASE("table: Markdown escapes what would be markup") {
  Table table({{"layer", {}, Column::kName}, {"maps"}});
  table.add({{"a|b <img>"}, {"1 B"}});
  CHECK(table.markdown() == "| layer | maps |\n|---|--:|\n| a\\|b \\<img\\> | 1 B |\n");
}

TEST_CASE("table: hostile names and titles are escaped in text") {
  Table table({{"la\nyer", {}, Column::kName}});
  table.add({{"x\x1b[2Jy\nz"}});
  CHECK(table.text({}) == "la\\nyer\nx\\x1b[2Jy\\nz\n");
}

TEST_CASE("page: lines break between words; columns are kept and long words stay whole") {
  CHECK(wrapped("one two three", {.width = 80}) == "one two three\n");
  CHECK(wrapped("one two three", {.width = 8}) == "one two\n  three\n");
  CHECK(wrapped("  name   value and more", {.width = 14}, 9) ==
        "  name   value\n         and\n         more\n");
  CHECK(wrapped("a /a/path/that/is/longer/than/the/page b", {.width = 10}) ==
        "a\n  /a/path/that/is/longer/than/the/page\n  b\n");
  CHECK(columns_of("d\u00e9j\u00e0") == 4);
}

}  // namespace plimsoll
