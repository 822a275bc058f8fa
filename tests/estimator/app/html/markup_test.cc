#include "estimator/app/html/markup.h"

#include <doctest/doctest.h>

#include "estimator/app/report/markup_text.h"

using namespace plimsoll;

TEST_CASE("markup: text and values are escaped, and what nobody sees is shown") {
  CHECK(escaped_markup("a & b") == "a &amp; b");
  CHECK(escaped_markup("</script><img src='x' onerror=\"y\">") ==
        "&lt;/script&gt;&lt;img src=&#39;x&#39; onerror=&quot;y&quot;&gt;");
  CHECK(escaped_markup("\x1b[2J\xE2\x80\xAE") == "\\x1b[2J\\u202e");
  Markup out;
  out.open("p", {{"title", "\"><b>"}}).text("<i>").close();
  CHECK(out.take() == "<p title=\"&quot;&gt;&lt;b&gt;\">&lt;i&gt;</p>\n");
}

TEST_CASE("markup: a table has headings, a scope for each, and figures to sort by") {
  Markup out;
  HtmlTable table(out, "Sizes", {{"name"}, {"bytes", true}});
  table.row().cell("a<b").cell("1.0 KiB", 1024);
  table.row().swatch("slack", "c").cell("0 B", 0);
  table.end();
  CHECK(out.take() ==
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Sizes\"><table>"
        "<caption>Sizes</caption>\n<thead><tr><th scope=\"col\" class=\"\">name</th>"
        "<th scope=\"col\" class=\"figure\">bytes</th></tr>\n</thead>\n<tbody>"
        "<tr><th scope=\"row\">a&lt;b</th><td data-v=\"1024\">1.0 KiB</td>"
        "</tr>\n<tr><th scope=\"row\"><span class=\"swatch slack\"></span>c</th>"
        "<td data-v=\"0\">0 B</td></tr>\n</tbody>\n</table>\n</div>\n");
}
