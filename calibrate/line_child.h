// LineChild: a process of our own that answers lines with lines. What crashes in it is a message
// here, and whoever asks never loads the libraries that it loads.
//
//   auto child = LineChild::start([](const LineLink& link) { ... link.send(answer); });
//   const std::optional<std::string> answer = child->ask(question);
//   if (!answer) child->how_it_ended();   // "crashed (Segmentation fault)"
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "graph/base/diagnostic.h"

namespace plimsoll {

class LineLink {
 public:
  explicit LineLink(int socket) : socket_(socket) {}
  bool send(std::string_view line) const;  // false: nobody is there any more
  // Nothing where nobody is there any more, or nothing came within the limit: late() is then true.
  std::optional<std::string> receive(std::optional<std::chrono::milliseconds> limit = {});
  bool late() const { return late_; }

 private:
  bool wait_until(std::chrono::steady_clock::time_point end) const;

  int socket_;
  bool late_ = false;
  std::string unread_;
};

class LineChild {
 public:
  // Forks; the child's whole life is `live`, and it ends with this process, however that ends. E707
  // where no process can be made.
  static Result<LineChild> start(const std::function<void(LineLink&)>& live);
  LineChild(LineChild&& other) noexcept;
  LineChild& operator=(LineChild&&) = delete;
  ~LineChild();

  // The next line without a question; nothing where the child is gone, and where it says nothing
  // within the limit: it is then ended, with all that it has started.
  using Limit = std::optional<std::chrono::milliseconds>;
  std::optional<std::string> listen(Limit limit = {});
  std::optional<std::string> ask(std::string_view line, Limit limit = {});
  // Waits for it. "crashed (Segmentation fault)", "did not answer, and was ended".
  std::string how_it_ended();

 private:
  LineChild(pid_t child, int socket) : child_(child), socket_(socket), link_(socket) {}

  pid_t child_ = -1;
  int socket_ = -1;
  LineLink link_;
};

}  // namespace plimsoll
