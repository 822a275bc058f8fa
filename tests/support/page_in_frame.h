// A page in Chromium, in a frame of any width, and what a script of the test's own tells of it.
#pragma once

#include <string>
#include <vector>

#include "tests/support/browser.h"

namespace plimsoll::test {

enum class Look : uint8_t { kLight, kDark, kPrint };

// `script` posts one text to the page's owner; the copy of the page allows it. Printed is what the
// style of paper shows.
inline std::string told_in_frame(const Scratch& scratch, std::string page,
                                 const std::string& script, int width, Look look = Look::kLight) {
  const size_t policy = page.find("script-src");
  REQUIRE(policy != page.npos);
  page.replace(policy, page.find(';', policy) - policy, "script-src 'unsafe-inline'");
  if (look == Look::kPrint) {
    const std::string print = "@media print";
    const size_t at = page.find(print);
    REQUIRE(at != page.npos);
    page.replace(at, print.size(), "@media all");
  }
  page.insert(page.rfind("</body>"), "<script>" + script + "</script>");
  scratch.write("copy.html", page);
  // A window has a least width; a frame has none.
  const std::string frame = scratch.write(
      "frame.html", "<iframe style='border:0;height:3000px;width:" + std::to_string(width) +
                        "px' src='copy.html'></iframe><pre id=told></pre><script>"
                        "addEventListener('message', (e) => { told.textContent = e.data; })"
                        "</script>");
  const Seen seen =
      browse(scratch, frame,
             {"--window-size=1400,3100", std::string("--blink-settings=preferredColorScheme=") +
                                             (look == Look::kDark ? "0" : "1")});
  CHECK(seen.console == "");
  const std::string begin = "<pre id=\"told\">";
  const size_t at = seen.dom.find(begin);
  REQUIRE(at != seen.dom.npos);
  const size_t from = at + begin.size();
  return seen.dom.substr(from, seen.dom.find("</pre>", from) - from);
}

}  // namespace plimsoll::test
