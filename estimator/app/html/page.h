// A report's page: one file that shows itself anywhere, with its style, scripts and result inside.
// It asks for nothing outside itself, and its policy lets nothing else run than these scripts.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

struct HtmlPage {
  std::string title;
  std::string body;     // of Markup
  std::string json;     // the result; `<` is escaped in it, as JsonWriter writes it
  std::string command;  // that repeats it, as a shell reads it
};

// Charts are drawn by Vega, which the build brings along where it can; else pages have their tables
// alone, and say so. Cost: some 10 ms to unpack and hash Vega.
std::string to_html(const HtmlPage& page);
bool has_charts();

}  // namespace plimsoll
