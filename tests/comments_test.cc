// A comment that sends its reader to a file sends him to one that is there.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <string_view>

#include "tests/support/source_text.h"

namespace {

namespace fs = std::filesystem;

// Files of others that could be ours by their path, and examples of names.
constexpr std::string_view kElsewhere[] = {
    "ContribOperators.md",                   // of ONNX Runtime
    "docs/faq/perf.md",                      // of MXNet
    "onnx/docs/Operators-ml.md",             // of ONNX
    "plimsoll/plimsoll.h",                   // as it is installed
    "OUTPUT.cc",                             // an argument
    "cudnn_ops.h",                           // of cuDNN
    "cudnn_version.h",                       // of cuDNN
    "scaled_dot_product_flash_attention.h",  // of cudnn-frontend
};

struct OwnFiles {
  std::set<std::string> folders, names, paths;

  OwnFiles() {
    const fs::path root = PLIMSOLL_SOURCE_DIR;
    for (auto at = fs::recursive_directory_iterator(root); at != fs::end(at); ++at) {
      const std::string name = at->path().filename().string();
      if (at.depth() == 0 && (name == "build" || name.starts_with("."))) {
        at.disable_recursion_pending();
        continue;
      }
      (at->is_directory() ? folders : names).insert(name);
      if (!at->is_directory()) paths.insert("/" + fs::relative(at->path(), root).string());
    }
  }
  // A path names a file of ours where its first folder is one of ours; it may leave out outer
  // folders.
  bool dangles(const std::string& path) const {
    if (std::ranges::find(kElsewhere, path) != std::end(kElsewhere)) return false;
    const size_t slash = path.find('/');
    if (slash == path.npos) return !names.contains(path);
    if (!folders.contains(path.substr(0, slash))) return false;
    return std::ranges::none_of(paths, [&](const auto& own) { return own.ends_with("/" + path); });
  }
};

// Sources, headers and pages of documentation that a comment names.
std::vector<std::string> named_files(const std::string& comment) {
  static const std::regex kFile("[A-Za-z_][A-Za-z0-9_./-]*\\.(cc|h|md)\\b");
  std::vector<std::string> files;
  for (std::sregex_iterator at(comment.begin(), comment.end(), kFile), end; at != end; ++at)
    files.push_back(at->str());
  return files;
}

}  // namespace

TEST_CASE("comments: a file that one names is there") {
  const OwnFiles own;
  CHECK(own.dangles("graph/eager/gone.h"));
  CHECK(own.dangles("gone.cc"));
  CHECK_FALSE(own.dangles("eager/machine.h"));
  CHECK_FALSE(own.dangles("torch/nn/functional.h"));
  CHECK(named_files("// see graph/base/text.h, and op_row.h.").size() == 2);
  for (const auto& source : plimsoll::test::all_sources()) {
    for (const auto& comment : source.comments) {
      for (const std::string& file : named_files(comment.text)) {
        CHECK_MESSAGE(!own.dangles(file),
                      source.path << ":" << comment.line << ": there is no " << file);
      }
    }
  }
}
