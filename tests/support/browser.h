// Pages in Chromium, without a network of ours: what a page shows once its scripts have run, what
// it complains of, and what it asks for.
#pragma once

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/run_plimsoll.h"

namespace plimsoll::test {

inline const char* chromium() {
  for (const char* path : {"/usr/bin/chromium", "/usr/bin/chromium-browser"}) {
    if (::access(path, X_OK) == 0) return path;
  }
  return nullptr;
}

// Whether there is nothing to run: the test is then not run.
inline bool without_browser() {
  if (skipped()) return true;
  if (chromium()) return false;
  not_run("no Chromium");
  return true;
}

// Chromium on its own: no window, no card, nothing of the user's.
inline std::vector<std::string> browser_flags(const Scratch& scratch) {
  return {"--headless=new",
          "--no-sandbox",
          "--disable-gpu",
          "--disable-dev-shm-usage",
          "--disable-background-networking",
          "--disable-component-update",
          "--no-first-run",
          "--user-data-dir=" + scratch.path("profile")};
}

struct Seen {
  std::string dom;                    // once its scripts have run
  std::string console;                // what they complained of
  std::vector<std::string> requests;  // of the page, beside itself
};

// `page`: a file's path, with "#..." behind it or not. `flags`: Chromium's own.
inline Seen browse(const Scratch& scratch, const std::string& page,
                   const std::vector<std::string>& flags = {}) {
  const std::string log = scratch.path("net.json");
  std::vector<std::string> arguments = browser_flags(scratch);
  arguments.insert(arguments.end(), {"--enable-logging=stderr", "--virtual-time-budget=20000",
                                     "--log-net-log=" + log});
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  arguments.insert(arguments.end(), {"--dump-dom", "file://" + page});
  const Ran ran = run_plimsoll(
      arguments, {.program = chromium(),
                  .environment = {"HOME=" + scratch.path("home"), "PATH=/usr/bin:/bin"},
                  .address_space = RLIM_INFINITY,
                  .stack = RLIM_INFINITY,
                  .descriptors = 4096,
                  .seconds = 100});
  CHECK(ran.status == 0);
  Seen seen{.dom = ran.out, .console = "", .requests = {}};
  std::istringstream lines(ran.err);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("CONSOLE") != line.npos) seen.console += line + "\n";
  }
  // The browser's own requests come from no origin, a page's from its own or from "null".
  const auto net = nlohmann::json::parse(detail::text_of(log), nullptr, false);
  REQUIRE_FALSE(net.is_discarded());
  for (const auto& event : net.at("events")) {
    const auto& about = event.contains("params") ? event.at("params") : event;
    if (about.contains("url") && about.value("initiator", "not an origin") != "not an origin")
      seen.requests.push_back(about.at("url"));
  }
  return seen;
}

}  // namespace plimsoll::test
