// Runs the built program, whose path PLIMSOLL_BINARY says, with bounds on time and memory.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/not_run.h"
#include "tests/support/scratch.h"

namespace plimsoll::test {

// Null where it is not set: `./dev test` sets it.
inline const char* plimsoll_binary() { return std::getenv("PLIMSOLL_BINARY"); }

// Whether there is nothing to run: the test is then not run.
inline bool skipped() {
  if (plimsoll_binary()) return false;
  not_run("PLIMSOLL_BINARY is not set; './dev test' sets it");
  return true;
}

struct Ran {
  int status = -1;  // of exit, or 128 and the signal, as the shell shows it
  std::string out, err;
};

// On standard error.
inline bool says(const Ran& ran, const std::string& text) {
  return ran.err.find(text) != ran.err.npos;
}

struct RunOptions {
  const char* program = nullptr;  // else plimsoll_binary()
  std::string input = {};
  std::vector<std::string> environment = {};  // NAME=VALUE, beside none of the test's own
  std::vector<int> closed = {};               // descriptors
  const char* out = nullptr;                  // a path for standard output
  std::string folder = {};                    // working folder
  // Bytes. The bound on memory: a resident peak would count this process's own, kept through exec.
  rlim_t address_space = rlim_t{256} << 20;
  rlim_t stack = rlim_t{8} << 20;
  rlim_t descriptors = 64;
  unsigned seconds = 20;
};

namespace detail {

inline void limit(int resource, rlim_t most) {
  const rlimit both{most, most};
  setrlimit(static_cast<__rlimit_resource>(resource), &both);
}

inline void become(int descriptor, const char* path, int flags) {
  const int opened = ::open(path, flags, 0600);
  if (opened < 0 || ::dup2(opened, descriptor) < 0) _exit(126);
  ::close(opened);
}

inline std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

}  // namespace detail

inline Ran run_plimsoll(std::vector<std::string> arguments, RunOptions options = {}) {
  const Scratch scratch;
  const std::string in = scratch.write("in", options.input);
  const std::string out = scratch.path("out"), err = scratch.path("err");
  arguments.insert(arguments.begin(), options.program ? options.program : plimsoll_binary());
  const auto argv = detail::pointers(arguments), envp = detail::pointers(options.environment);
  const pid_t child = ::fork();
  if (child == 0) {
    detail::become(0, in.c_str(), O_RDONLY);
    detail::become(2, err.c_str(), O_WRONLY | O_CREAT);
    detail::become(1, options.out ? options.out : out.c_str(), O_WRONLY | O_CREAT);
    ::close_range(3, ~0U, 0);  // what this process inherited would count against the limit
    for (const int descriptor : options.closed) ::close(descriptor);
    if (!options.folder.empty() && ::chdir(options.folder.c_str()) != 0) _exit(126);
    detail::limit(RLIMIT_AS, options.address_space);
    detail::limit(RLIMIT_STACK, options.stack);
    detail::limit(RLIMIT_NOFILE, options.descriptors);
    detail::limit(RLIMIT_CORE, 0);
    ::alarm(options.seconds);
    ::execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  Ran ran;
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return ran;
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ran.out = detail::text_of(out);
  ran.err = detail::text_of(err);
  return ran;
}

// Whether a command's output has the words.
inline bool says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

// Text that a terminal may be given: printable, or a newline.
inline bool plain(const std::string& text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 32 && c != '\n') || byte == 127;
  });
}

}  // namespace plimsoll::test
