// A page in Chromium, driven: moves of its controls, files, widths and colour schemes, and what it
// shows then. Through the pipe of Chrome's DevTools Protocol
// (https://chromedevtools.github.io/devtools-protocol), without a network.
//
//   Browser browser;
//   browser.open("file:///tmp/page.html");
//   browser.wait("document.body.dataset.drawn === 'true'");
//   browser.evaluate("document.title")   // JSON
#pragma once

#include <doctest/doctest.h>
#include <poll.h>
#include <signal.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/browser.h"

namespace plimsoll::test {

class Browser {
 public:
  Browser() {
    int asked[2], told[2];
    REQUIRE(::pipe(asked) == 0);
    REQUIRE(::pipe(told) == 0);
    child_ = ::fork();
    if (child_ == 0) become_chromium(asked[0], told[1]);
    ::close(asked[0]);
    ::close(told[1]);
    to_ = asked[1];
    from_ = told[0];
    const auto target = call("Target.createTarget", {{"url", "about:blank"}})["targetId"];
    session_ =
        call("Target.attachToTarget", {{"targetId", target}, {"flatten", true}})["sessionId"];
    for (const char* domain : {"Page.enable", "Runtime.enable", "Log.enable", "Network.enable"})
      call(domain);
  }
  ~Browser() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    ::close(to_);
    ::close(from_);
  }
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  // What a method of the protocol returns.
  nlohmann::json call(const std::string& method,
                      nlohmann::json parameters = nlohmann::json::object()) {
    nlohmann::json message = {
        {"id", ++calls_}, {"method", method}, {"params", std::move(parameters)}};
    if (!session_.empty()) message["sessionId"] = session_;
    const std::string text = message.dump() + '\0';
    for (size_t sent = 0; sent < text.size();) {
      const ssize_t n = ::write(to_, text.data() + sent, text.size() - sent);
      REQUIRE(n > 0);
      sent += static_cast<size_t>(n);
    }
    while (true) {
      auto heard = next();
      if (heard.value("id", int64_t{0}) != calls_) {
        events_.push_back(std::move(heard));
        continue;
      }
      CAPTURE(method);
      CAPTURE(heard.dump());
      REQUIRE(heard.contains("result"));
      return heard["result"];
    }
  }

  // A script's value; a promise is awaited.
  nlohmann::json evaluate(const std::string& script) {
    const auto result =
        call("Runtime.evaluate",
             {{"expression", script}, {"awaitPromise", true}, {"returnByValue", true}});
    CAPTURE(script);
    CAPTURE(result.dump());
    REQUIRE_FALSE(result.contains("exceptionDetails"));
    return result["result"].value("value", nlohmann::json());
  }
  // Until a script's value is true.
  void wait(const std::string& script, int seconds = 60) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    while (evaluate(script) != true) {
      CAPTURE(script);
      CAPTURE(console());
      REQUIRE(std::chrono::steady_clock::now() < end);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  // `width`: of the page's view, as a phone's up to 600. Another page, even of the same address.
  void open(const std::string& address, int width = 1280) {
    call("Emulation.setDeviceMetricsOverride",
         {{"width", width}, {"height", 900}, {"deviceScaleFactor", 1}, {"mobile", width <= 600}});
    call("Page.navigate", {{"url", "about:blank"}});
    wait("document.readyState === 'complete'");
    events_.clear();
    call("Page.navigate", {{"url", address}});
    wait("document.readyState === 'complete'");
  }
  // `medium`: "print" or "screen"; `scheme`: "light" or "dark".
  void emulate(const std::string& medium, const std::string& scheme) {
    const nlohmann::json feature = {{"name", "prefers-color-scheme"}, {"value", scheme}};
    call("Emulation.setEmulatedMedia",
         {{"media", medium}, {"features", nlohmann::json::array({feature})}});
  }
  // Gives files to an input of the page.
  void choose(const std::string& selector, const std::vector<std::string>& paths) {
    const auto root = call("DOM.getDocument")["root"]["nodeId"];
    const auto node = call("DOM.querySelector", {{"nodeId", root}, {"selector", selector}});
    call("DOM.setFileInputFiles", {{"files", paths}, {"nodeId", node["nodeId"]}});
  }
  void press(const std::string& key) {
    call("Input.dispatchKeyEvent", {{"type", "keyDown"},
                                    {"key", key},
                                    {"code", key},
                                    {"windowsVirtualKeyCode", code_of(key)}});
    call("Input.dispatchKeyEvent",
         {{"type", "keyUp"}, {"key", key}, {"code", key}, {"windowsVirtualKeyCode", code_of(key)}});
  }

  // What the page's scripts complained of since it was opened, a line each.
  std::string console() {
    std::string said;
    for (const auto& event :
         seen({"Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"}))
      said += event["params"].dump() + "\n";
    return said;
  }
  // The addresses that the page asked for beside itself; its own texts are none ("blob:", "data:").
  std::vector<std::string> requests() {
    std::vector<std::string> addresses;
    for (const auto& event : seen({"Network.requestWillBeSent"})) {
      const auto& about = event["params"];
      const std::string address = about["request"]["url"];
      const bool own = address.starts_with("blob:") || address.starts_with("data:");
      if (!own && about.value("type", "") != "Document") addresses.push_back(address);
    }
    return addresses;
  }
  // Of the pages' processes and their workers, so far.
  double processor_seconds() {
    const std::string session = std::exchange(session_, "");
    int64_t ticks = 0;
    const auto answer = call("SystemInfo.getProcessInfo");
    for (const auto& process : answer["processInfo"]) {
      if (process["type"] == "renderer") ticks += ticks_of(process["id"].get<int64_t>());
    }
    session_ = session;
    return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }

 private:
  [[noreturn]] void become_chromium(int in, int out) {
    // The protocol's descriptors.
    constexpr int kIn = 3, kOut = 4;
    const int kept_in = ::fcntl(in, F_DUPFD, 10), kept_out = ::fcntl(out, F_DUPFD, 10);
    ::dup2(kept_in, kIn);
    ::dup2(kept_out, kOut);
    ::close_range(kOut + 1, ~0U, 0);
    detail::become(1, "/dev/null", O_WRONLY);
    detail::become(2, "/dev/null", O_WRONLY);
    std::vector<std::string> arguments = browser_flags(scratch_);
    arguments.insert(arguments.begin(), chromium());
    arguments.insert(arguments.end(), {"--remote-debugging-pipe", "about:blank"});
    std::vector<std::string> environment = {"HOME=" + scratch_.path("home"), "PATH=/usr/bin:/bin"};
    const auto argv = detail::pointers(arguments), envp = detail::pointers(environment);
    ::execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }

  // The next message, for which it has a minute.
  nlohmann::json next() {
    constexpr int kMilliseconds = 60'000;
    size_t end = heard_.find('\0');
    while (end == heard_.npos) {
      pollfd ready{from_, POLLIN, 0};
      REQUIRE(::poll(&ready, 1, kMilliseconds) == 1);
      char bytes[1 << 16];
      const ssize_t n = ::read(from_, bytes, sizeof bytes);
      REQUIRE(n > 0);
      const size_t before = heard_.size();
      heard_.append(bytes, static_cast<size_t>(n));
      end = heard_.find('\0', before);
    }
    auto message = nlohmann::json::parse(heard_.substr(0, end));
    heard_.erase(0, end + 1);
    return message;
  }

  // Of these kinds, since the page was opened.
  std::vector<nlohmann::json> seen(const std::vector<std::string>& methods) {
    call("Runtime.evaluate", {{"expression", "0"}});  // what was on its way has come
    std::vector<nlohmann::json> found;
    for (const auto& event : events_) {
      if (std::ranges::find(methods, event.value("method", "")) != methods.end())
        found.push_back(event);
    }
    return found;
  }

  // User's and system's, of proc(5)'s stat: its 14th and 15th entry, of which the second is in ().
  static int64_t ticks_of(int64_t process) {
    const std::string stat = detail::text_of("/proc/" + std::to_string(process) + "/stat");
    std::istringstream entries(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
    constexpr int kBefore = 11;
    std::string skipped_entry;
    for (int i = 0; i < kBefore; ++i) entries >> skipped_entry;
    int64_t user = 0, system = 0;
    entries >> user >> system;
    return user + system;
  }

  static int code_of(const std::string& key) {
    if (key == "Tab") return 9;
    if (key == "Enter") return 13;
    return key == "ArrowLeft" ? 37 : key == "ArrowRight" ? 39 : 0;
  }

  Scratch scratch_;
  pid_t child_ = -1;
  int to_ = -1, from_ = -1;
  std::string session_, heard_;
  int64_t calls_ = 0;
  std::vector<nlohmann::json> events_;
};

}  // namespace plimsoll::test
