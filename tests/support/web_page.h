// The web page of `./dev web` in Chromium, whose path PLIMSOLL_WEB says: questions in its address,
// its answers, and the command's to the same.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/devtools.h"

namespace plimsoll::test {

inline const char* web_page() { return std::getenv("PLIMSOLL_WEB"); }

inline bool without_web_page() {
  if (without_browser()) return true;
  if (web_page()) return false;
  not_run("PLIMSOLL_WEB is not set; './dev test' sets it");
  return true;
}

inline std::string escaped_link(const std::string& text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string link;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte)) {
      link += c;
    } else {
      link += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return link;
}

// A question's settings by name, "dim.sequence" among them.
using Question = std::vector<std::pair<std::string, std::string>>;

inline std::string link_of(const Question& question) {
  std::string link = "file://" + std::filesystem::absolute(web_page()).string() + "#";
  for (const auto& [name, text] : question) link += name + "=" + escaped_link(text) + "&";
  return link;
}

inline std::vector<std::string> command_of(const Question& question) {
  std::vector<std::string> command = {"estimate"};
  for (const auto& [name, text] : question) {
    if (name == "config") continue;
    if (name == "model") {
      command.push_back(text);
      continue;
    }
    const size_t dot = name.find('.');
    std::string flag = "--" + name.substr(0, dot);
    std::ranges::replace(flag, '_', '-');
    command.push_back(flag);
    if (text == "true") continue;
    command.push_back(dot == name.npos ? text : name.substr(dot + 1) + "=" + text);
  }
  command.push_back("--json");
  return command;
}

inline nlohmann::json answer_of(Browser& browser) {
  const auto text = browser.evaluate("document.getElementById('plimsoll-result').textContent");
  return nlohmann::json::parse(text.get<std::string>());
}

inline std::string text_of(Browser& browser, const std::string& selector) {
  return browser.evaluate("document.querySelector('" + selector + "').textContent");
}

inline void wait_until_drawn(Browser& browser) {
  browser.wait("document.body.dataset.drawn === 'true'");
}
inline void wait_until_helped(Browser& browser) {
  browser.wait("document.body.dataset.helped === 'true'");
}

inline void ask(Browser& browser, const Question& question, int width = 1280) {
  browser.open(link_of(question), width);
  wait_until_drawn(browser);
  wait_until_helped(browser);
}

// What --html adds to an answer.
inline nlohmann::json as_command(nlohmann::json answer) {
  auto& result = answer["result"];
  result["memory"].erase("curve");
  for (const char* of_page : {"parts", "tensors"}) result["memory"]["peak"].erase(of_page);
  for (const char* of_page : {"modules", "lanes"}) result.erase(of_page);
  return answer;
}

// Where two documents differ, by more than the last digits of a real number: two C libraries.
inline std::string difference(const nlohmann::json& a, const nlohmann::json& b,
                              const std::string& where = "") {
  constexpr double kRounding = 1e-12;
  if (a.is_number_float() && b.is_number()) {
    const double x = a, y = b;
    return std::abs(x - y) <= kRounding * std::abs(x) ? ""
                                                      : where + ": " + a.dump() + " " + b.dump();
  }
  if (a.type() != b.type() || a.size() != b.size()) return where + " is of another kind or size";
  if (a.is_structured()) {
    for (const auto& [key, value] : a.items()) {
      const bool list = a.is_array();
      if (!list && !b.contains(key)) return where + "/" + key + " is missing";
      const std::string found =
          difference(value, list ? b[std::stoul(key)] : b[key], where + "/" + key);
      if (!found.empty()) return found;
    }
    return "";
  }
  return a == b ? "" : where + ": " + a.dump() + " " + b.dump();
}

inline nlohmann::json command_answer(const std::vector<std::string>& command,
                                     const Scratch& scratch) {
  const Ran ran = run_plimsoll(command, {.folder = scratch.path(""), .seconds = 100});
  CAPTURE(ran.err);
  REQUIRE(ran.status <= 1);
  return nlohmann::json::parse(ran.out);
}

}  // namespace plimsoll::test
