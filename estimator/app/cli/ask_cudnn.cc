#include "estimator/app/cli/ask_cudnn.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "estimator/app/cli/child.h"
#include "estimator/app/explain/convolutions.h"
#include "graph/base/byte_source.h"
#include "graph/base/escape.h"
#include "graph/base/try.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "plimsoll-calibrate";
constexpr std::chrono::minutes kLongestAnswer{10};  // thousands of convolutions on a slow disk

// Beside this program, else on the PATH.
std::string find_calibrate() {
  std::error_code fault;
  const fs::path own = fs::read_symlink("/proc/self/exe", fault);
  if (!fault) {
    const fs::path beside = own.parent_path() / kProgram;
    if (::access(beside.c_str(), X_OK) == 0) return beside.string();
  }
  return find_program(kProgram);
}

// What the child says is wrong, without its own name and its help, which are for who runs it.
std::string first_fault(const std::string& said) {
  const std::string prefix = std::string(kProgram) + ": error: ";
  const std::string line = said.substr(0, said.find('\n'));
  return shortened(line.starts_with(prefix) ? line.substr(prefix.size()) : line, 600);
}

// A folder for questions and answers, removed with them.
class Exchange {
 public:
  Exchange() {
    std::error_code fault;
    std::string pattern = (fs::temp_directory_path(fault) / "plimsoll-XXXXXX").string();
    if (!fault && ::mkdtemp(pattern.data())) folder_ = pattern;
  }
  ~Exchange() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  std::string path(const char* name) const { return (folder_ / name).string(); }
  bool write(const char* name, const std::vector<ConvQuestion>& questions) const {
    std::ofstream out(path(name), std::ios::binary);
    for (const ConvQuestion& question : questions) {
      JsonWriter line;
      line.begin_object();
      write_conv_question(line, question);
      line.end_object();
      out << line.take() << '\n';
    }
    return !folder_.empty() && out.flush().good();
  }

 private:
  fs::path folder_;
};

}  // namespace

Result<std::shared_ptr<const AskedWorkspaces>> ask_cudnn(const Request& request, const Hwdb& hwdb) {
  const auto questions = TRY(convolutions(request, hwdb));
  if (questions.empty()) return nullptr;
  const std::string program = find_calibrate();
  if (program.empty()) {
    return error("E708",
                 fmt::format("--ask-cudnn: {} is neither in this program's folder nor on the PATH",
                             kProgram),
                 {}, "'./dev build' puts it into the same folder as plimsoll");
  }
  const Exchange exchange;
  if (!exchange.write("problems.jsonl", questions))
    return error("E612", "--ask-cudnn: no temporary file can be written");
  // The machine's own card is known to it by its id.
  const auto device = TRY(hwdb.device(request.devices.front()));
  const std::string gpu = request.devices.front() == "local" ? device.id : request.devices.front();
  std::vector<std::string> arguments = {"ask",        "--quiet",
                                        "--gpu",      gpu,
                                        "--problems", exchange.path("problems.jsonl"),
                                        "--out",      exchange.path("answers.jsonl")};
  if (!request.hwdb_directory.empty()) {
    arguments.emplace_back("--hwdb");
    arguments.push_back(request.hwdb_directory);
  }
  const ChildAnswer child = run_child(program, arguments, kLongestAnswer, ChildErrors::kWithOutput);
  if (child.status != 0) {
    const std::string why = child.timed_out
                                ? fmt::format("no answer in {} minutes", kLongestAnswer.count())
                            : child.out.empty() ? fmt::format("status {}", child.status)
                                                : first_fault(child.out);
    return error("E708", fmt::format("--ask-cudnn: {} ask fails: {}", kProgram, why), {},
                 "'./dev calibrate ask ...' fetches cuDNN 9.10.2; PLIMSOLL_CUDNN names a folder");
  }
  const auto lines = TRY(read_text(exchange.path("answers.jsonl")));
  auto asked = TRY(AskedWorkspaces::read(lines, std::string(kProgram) + "'s answers"));
  return std::make_shared<const AskedWorkspaces>(std::move(asked));
}

}  // namespace plimsoll::cli
