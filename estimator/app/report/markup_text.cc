#include "estimator/app/report/markup_text.h"

#include "graph/base/escape.h"

namespace plimsoll {

std::string escaped_markup(std::string_view text) {
  std::string out;
  for (const char c : escaped(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace plimsoll
