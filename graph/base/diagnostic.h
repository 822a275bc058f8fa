// graph/base: the lowest level of Plimsoll. Diagnostics, data types, checked numbers.
//
// The room graph/ says what a training step *is*: shapes, operators, kernels, buffers. It has never
// heard of a GPU or of a framework by name; those facts live in hwdb/ and meet the step in
// estimator/. Nothing in this room prints, exits, reads a clock or an environment variable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace plimsoll {

enum class Severity { kNote, kWarning, kError };

// Where in the user's material a diagnostic points. Empty members are left out when shown.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
  std::string node;  // as shown to the user: "node 57 '/layer3/conv2/Conv' (Conv)"
};

// One message with a stable code. The code's hundreds decide the exit status (see exit_status).
struct Diagnostic {
  std::string code;  // "E231", "W210"
  Severity severity = Severity::kError;
  std::string message;
  Place place;
  std::string help;  // the next step to take, often a flag to paste
};

using Diagnostics = std::vector<Diagnostic>;

template <class T>
using Result = tl::expected<T, Diagnostics>;

// An unexpected holding one error, for `return error("E231", "...")`.
tl::unexpected<Diagnostics> error(std::string code, std::string message, Place place = {},
                                  std::string help = {});
Diagnostic warning(std::string code, std::string message, Place place = {}, std::string help = {});
Diagnostic note(std::string code, std::string message, Place place = {}, std::string help = {});

// Exit status of the worst diagnostic: 0 without errors, 2 for E1xx (usage), 3 for E2xx-E5xx (an
// input file), 4 for E6xx and E7xx (environment), 5 for E8xx (a limit), 70 for E9xx (our bug).
int exit_status(const Diagnostics& diagnostics);

// The allowed word that is nearest to `word` by edit distance, or empty where none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& allowed);

}  // namespace plimsoll
