// AskingChild: cuDNN in a process of its own. What crashes there is a message here, and whoever
// holds the child never loads the library.
//
//   auto child = AskingChild::start(device);
//   auto listed = child->ask(question);
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "calibrate/cudnn.h"
#include "calibrate/line_child.h"

namespace plimsoll {

class AskingChild {
 public:
  // Forks; the child ends with this process, however that ends. Errors as Cudnn::open(); E707 where
  // the child crashes, or does not answer.
  // `limit`: of loading the library, and of each answer.
  static constexpr std::chrono::milliseconds kLongestAnswer = std::chrono::minutes(2);
  static Result<AskingChild> start(const Device& device,
                                   std::chrono::milliseconds limit = kLongestAnswer);

  const std::string& version() const { return version_; }
  const std::vector<LoadedLibrary>& libraries() const { return libraries_; }

  // E707, which names the question, where cuDNN crashes over it.
  Result<Cudnn::Listed> ask(const ConvQuestion& question);

 private:
  explicit AskingChild(LineChild child) : child_(std::move(child)) {}
  tl::unexpected<Diagnostics> gone(const std::string& doing);

  LineChild child_;
  std::chrono::milliseconds limit_ = kLongestAnswer;
  std::string device_, help_, version_ = "9";
  std::vector<LoadedLibrary> libraries_;
};

}  // namespace plimsoll
