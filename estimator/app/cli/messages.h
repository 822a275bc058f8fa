// What a command says: answers on standard output, diagnostics on standard error.
#pragma once

#include <string>
#include <vector>

#include "estimator/app/cli/flag_set.h"
#include "estimator/app/report/spelling.h"
#include "graph/base/diagnostic.h"

namespace plimsoll::cli {

// Keeps what is said on this thread while it lives, instead of writing it: a program asks, not a
// shell.
class Listener {
 public:
  explicit Listener(Spelling spelling);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const Spelling spelling;  // of settings in what is said
  std::string output;
  Diagnostics diagnostics;

 private:
  Listener* outer_;
};
bool is_listened_to();

// How who asked writes settings.
Spelling spelling();

// Diagnostics of this thread as one object a line, or no more, for --error-format.
void report_as_json(bool json);

// Diagnostics on standard error, at most 20 and a count of the rest; all of them where they are
// JSON. Returns the exit status they mean.
int report(const Diagnostics& diagnostics);

// For people alone, on standard error; a listener has it in the answer.
void tell(const std::string& text);

// The whole text on standard output, or exit status 4 and a message where it cannot be written.
int print(const std::string& text, int status = 0);

// E101 for each argument that nobody declared, with the flag that is near; after an unknown flag
// its value is not complained about.
Diagnostics unknown_arguments(const FlagSet& app, const std::vector<std::string>& extras);

// What is wrong with a command line (Reading), in one line.
Diagnostics refused(std::string message);

// A standard descriptor that the caller closed would be taken by the first file that is opened.
void keep_standard_descriptors();

}  // namespace plimsoll::cli
