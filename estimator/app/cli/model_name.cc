#include "estimator/app/cli/model_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "graph/base/escape.h"
#include "graph/builtin/builtin.h"

namespace plimsoll::cli {

std::string model_meant(std::string_view word) {
  constexpr std::array<std::string_view, 6> kEndings = {".onnx", ".pt",     ".pth",
                                                        ".ckpt", ".tflite", ".safetensors"};
  std::string text(word);
  if (word.starts_with("builtin:") || word.starts_with("hf:")) return text;
  if (std::ranges::any_of(kEndings, [&](std::string_view e) { return word.ends_with(e); }))
    return text;
  std::error_code failed;
  // No built-in has a dot or a slash in its name, which files and folders have.
  if (word.empty() || word.find_first_of("./") != word.npos ||
      std::filesystem::exists(text, failed))
    return {};
  const std::string near = nearest_builtin(word);
  return near.empty() ? "" : "builtin:" + near;
}

Result<void> refuse_model(std::string_view word, std::string_view verb, std::string_view wanted,
                          std::string_view example) {
  const std::string model = model_meant(word);
  if (model.empty()) return {};
  return error("E122",
               fmt::format("{} takes {}; {} names a model", verb, wanted, shortened(word, 80)), {},
               fmt::format(fmt::runtime(example), shell_quoted(model)));
}

std::string model_beside(const std::string& plan, const std::string& model) {
  if (model.empty() || model.starts_with("builtin:") || model.starts_with("hf:") || plan == "-")
    return model;
  return (std::filesystem::path(plan).parent_path() / model).string();
}

}  // namespace plimsoll::cli
