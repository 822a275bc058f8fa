// Plimsoll, asked from C++: what a training step takes of a GPU, and how long it runs.
//
//   #include <plimsoll/plimsoll.h>
//
//   const plimsoll::api::Answer answer =
//       plimsoll::api::estimate("builtin:resnet50", {{"gpu", "rtx-4090"}, {"batch", "128"}});
//   if (answer.status == 0) show(answer.device_bytes, answer.step_ns);  // it fits
//
// Needs C++17 and nothing but the standard library. Everything may be called from many threads.
// Nothing is printed; but for run(), no program is started; but for run() and defaults(), no
// variable of the environment read.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::api {

enum class Verdict { kFits, kMayFit, kDoesNotFit };
enum class Severity { kNote, kWarning, kError };

struct Message {
  Severity severity = Severity::kNote;
  std::string code;  // "E131"; `plimsoll explain E131` tells more
  // For people; settings in it are written as they are here: {"batch", "32"}. Of what is in the
  // model it may quote names, escaped.
  std::string text;
  std::string json;  // of --error-format json: code, severity, message, file, line, node, help
};

struct Range {
  std::int64_t low = 0, high = 0;
};

struct Answer {
  // As the command's exit status: 0 fits, 1 does not; then there is an answer. 2 a flag is wrong,
  // 3 the model or a file, 4 the environment, 5 a limit, 70 a bug of ours: then messages say why,
  // and nothing else is told.
  int status = 0;
  std::vector<Message> messages{};

  Verdict verdict = Verdict::kDoesNotFit;  // of the whole range; `status` is the point's
  // Bytes of device memory, as the driver shows them for the process, and what of the GPU may be
  // used.
  std::int64_t device_bytes = 0, usable_bytes = 0;
  Range device_range{};
  // Nanoseconds of a step.
  std::int64_t step_ns = 0;
  Range step_range{};
  double samples_per_second = 0;
  // All of it, in the form of `plimsoll schema estimate`.
  std::string json{};
};

// Flags of `plimsoll estimate` by name, without dashes: {"precision", "amp-fp16"}; those without a
// value have an empty one, those that may be repeated are. `plimsoll estimate --help-all` lists
// them. A "gpu" must be named: no program is started here, not nvidia-smi either.
using Flags = std::vector<std::pair<std::string, std::string>>;

// `model`: a file, hf:NAME or builtin:NAME. Cost: some 10 to 100 ms, and what the model's
// file takes to read.
Answer estimate(const std::string& model, const Flags& flags);

// What a command says.
struct Said {
  int status = 0;  // its exit status
  std::vector<Message> messages{};
  std::string output{};  // what goes to standard output: with "--json" the answer in its schema
};

// How what is said names a setting: as a flag to paste, or as a keyword argument of Python's.
enum class Spelling { kFlags, kKeywords };

// A command of `plimsoll`: {"max-batch", "builtin:resnet50", "--gpu", "local", "--json"}. It does
// what it does on the command line, the files that it names, plimsoll.yaml, PLIMSOLL_GPU and
// `local` included. SIGINT is noted while it runs, and ends a sweep: then its status is 130.
Said run(const std::vector<std::string>& arguments, Spelling spelling = Spelling::kFlags);

// The flags that run() takes here where none are given: of PLIMSOLL_* and ./plimsoll.yaml. Those
// that cannot be read are none: run() says why.
Flags defaults();

// "0.1.0".
std::string version();

}  // namespace plimsoll::api
