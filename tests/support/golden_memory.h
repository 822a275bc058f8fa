// Memory figures of golden models: what the estimator says of an exported file, beside what the
// oracle of tests/oracles asked of PyTorch.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "estimator/estimator.h"
#include "estimator/memory/timeline.h"
#include "estimator/request/find_platform.h"
#include "estimator/step/bound_step.h"
#include "graph/base/embedded.h"
#include "hwdb/hwdb.h"
#include "tests/support/scratch.h"
#include "tests/support/step_walk.h"
#include "tests/support/tar_file.h"

namespace plimsoll::test {

inline std::string golden_path(const std::string& path) {
  return PLIMSOLL_SOURCE_DIR "/tests/golden/" + path;
}

inline std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline nlohmann::json read_golden(const std::string& path) {
  return nlohmann::json::parse(read_bytes(golden_path(path)), nullptr, false);
}

// A file under tests/golden, from its folder or, where that is one archive, from "FOLDER.tar".
// Empty where there is none.
inline std::string golden_bytes(const std::string& path) {
  static std::map<std::string, std::map<std::string, std::string>> archives;
  const size_t slash = path.rfind('/');
  const std::string archive = golden_path(path.substr(0, slash) + ".tar");
  if (!std::filesystem::exists(archive)) return read_bytes(golden_path(path));
  const auto [at, is_new] = archives.try_emplace(archive);
  if (is_new) at->second = read_tar(read_bytes(archive));
  const auto file = at->second.find(path.substr(slash + 1));
  return file == at->second.end() ? std::string() : file->second;
}

// `mode` is an optimizer's name or "inference".
struct GoldenCase {
  int64_t batch = 0;
  std::string mode;
  Loss loss = Loss::kCrossEntropy;
  std::map<std::string, std::vector<int64_t>> shapes;  // of the inputs
  std::optional<double> dropout;                       // to assume where the file has none
  const PrecisionRow* precision = find_precision("fp32");
  std::string checkpoint = "none";
  int64_t accumulate = 1;
  ZeroGrad zero_grad = ZeroGrad::kNone;
  std::vector<TrainingRule> training;
  Binding dims;
  std::map<std::string, std::string> settings;  // parameters of a config
  AskedAttention attention = AskedAttention::kNone;
  Finetune finetune;
  LossForm loss_form = LossForm::kOperators;
  bool shifts_scores = false, keeps_outputs = true, keeps_last_outputs = false;
  WidenedOutputs widened_outputs = WidenedOutputs::kNone;
  bool returns_cache = false;
};

// As goldens of losses spell them.
inline const std::map<std::string, LossForm> kLossForms = {
    {"operators", LossForm::kOperators},      {"fused", LossForm::kFused},
    {"chunked", LossForm::kChunked},          {"chunked-linear", LossForm::kChunkedLinear},
    {"fused-linear", LossForm::kFusedLinear}, {"tiled-linear", LossForm::kTiledLinear}};

// A step of Adam of the golden's language model, in the case's precision.
inline GoldenCase language_case(const nlohmann::json& golden, const nlohmann::json& one) {
  GoldenCase wanted;
  wanted.batch = golden["batch"];
  wanted.mode = "adam";
  wanted.dims["sequence"] = golden["sequence"];
  wanted.precision = find_precision(one["precision"].get<std::string>());
  wanted.attention = AskedAttention::kSdpa;
  return wanted;
}

struct MemoryFigures {
  int64_t parameters = 0, buffers = 0, gradients = 0, optimizer_state = 0;
  int64_t saved = 0, peak = 0;
  std::string phase;
};

class GoldenModels {
 public:
  // `device` has the compute capability that the oracle pretended.
  explicit GoldenModels(const std::string& device = "gtx-1080-ti")
      : hwdb_(Hwdb::open({}).value()), platform_(find_platform(hwdb_, Request{}, device).value()) {}

  // `file` is under tests/golden, gzipped. An error where the model does not compile; a check fails
  // where what it compiles to is no step.
  Result<MemoryFigures> figures(const std::string& file, const GoldenCase& wanted) {
    auto model = gunzip(golden_bytes(file), size_t{64} << 20);
    if (!model) return tl::make_unexpected(model.error());
    CAPTURE(file);
    return figures_of(scratch_.write("model.onnx", *model), wanted);
  }

  // The same of a config's text.
  Result<MemoryFigures> config_figures(const std::string& config, const GoldenCase& wanted) {
    return figures_of(scratch_.write("model.json", config), wanted);
  }

 private:
  Result<MemoryFigures> figures_of(const std::string& path, const GoldenCase& wanted) {
    Request request;
    request.model = path;
    request.batch = wanted.batch;
    request.shapes = wanted.shapes;
    request.dims = wanted.dims;
    request.settings = wanted.settings;
    request.attention = wanted.attention;
    request.recipe.finetune = wanted.finetune;
    request.recipe.loss = wanted.loss;
    request.recipe.loss_form = wanted.loss_form;
    request.recipe.shifts_scores = wanted.shifts_scores;
    request.recipe.keeps_outputs = wanted.keeps_outputs;
    request.recipe.keeps_last_outputs = wanted.keeps_last_outputs;
    request.recipe.widened_outputs = wanted.widened_outputs;
    request.recipe.returns_cache = wanted.returns_cache;
    request.recipe.assumed_dropout = wanted.dropout;
    request.recipe.precision = wanted.precision;
    request.recipe.checkpoint = wanted.checkpoint;
    request.recipe.accumulate = wanted.accumulate;
    request.recipe.zero_grad = wanted.zero_grad;
    request.recipe.training = wanted.training;
    if (wanted.mode == "inference") {
      request.recipe.mode = Mode::kInference;
    } else {
      request.recipe.optimizer = find_optimizer(wanted.mode);
    }
    auto compiled = compile(request, platform_);
    if (!compiled) return tl::make_unexpected(compiled.error());
    const Result<BoundStep> bound = bind_step(compiled->step, compiled->binding);
    if (!bound) return tl::make_unexpected(bound.error());
    for (const std::string& fault : step_faults(compiled->step, *bound, 512)) FAIL_CHECK(fault);
    const Timeline t = walk(compiled->step, *bound, 512);
    const auto resident = [&](Role role) { return t.resident_bytes[static_cast<size_t>(role)]; };
    return MemoryFigures{
        .parameters = resident(Role::kParameter),
        .buffers = resident(Role::kBuffer),
        .gradients = t.gradient_bytes,
        .optimizer_state = resident(Role::kOptimizerState),
        .saved = t.saved_bytes,
        .peak = t.peak_bytes,
        .phase = t.peak_phase == Phase::kUpdate ? "step" : std::string(name(t.peak_phase))};
  }

  Scratch scratch_;
  Hwdb hwdb_;
  Platform platform_;
};

// Relative errors, by size.
class Errors {
 public:
  void add(std::string what, int64_t predicted, int64_t measured) {
    if (predicted != measured) {
      std::string name = what;
      while (differences_.contains(name)) name += ", again";
      differences_[name] = {predicted, measured};
    }
    const double error = static_cast<double>(predicted) / static_cast<double>(measured) - 1;
    errors_.emplace_back(std::abs(error), std::move(what));
    std::sort(errors_.begin(), errors_.end());
  }
  size_t count() const { return errors_.size(); }
  double at(double share) const {
    if (errors_.empty()) return 1;
    const auto index = static_cast<size_t>(share * static_cast<double>(errors_.size()));
    return errors_[std::min(index, errors_.size() - 1)].first;
  }
  double median() const { return at(0.5); }
  double p95() const { return at(0.95); }
  double share_within(double bound) const {
    const auto end = std::find_if(errors_.begin(), errors_.end(),
                                  [&](const auto& error) { return error.first > bound; });
    return static_cast<double>(end - errors_.begin()) / static_cast<double>(errors_.size());
  }
  double share_exact() const { return share_within(0); }
  // {"resnet50 batch 2 adam": [predicted, measured]} of all that are not exact
  const nlohmann::json& differences() const { return differences_; }
  // "n 218, exact 61.5 %, median 0.000 %, p95 1.200 %, worst: ..."
  std::string text() const {
    std::string line =
        fmt::format("n {}, exact {:.1f} %, median {:.4f} %, p95 {:.4f} %, worst:", count(),
                    100 * share_exact(), 100 * median(), 100 * p95());
    for (size_t i = 0; i < 4 && i < errors_.size(); ++i) {
      const auto& [error, what] = errors_[errors_.size() - 1 - i];
      line += fmt::format("\n    {} {:.3f} %", what, 100 * error);
    }
    return line;
  }

 private:
  std::vector<std::pair<double, std::string>> errors_;
  nlohmann::json differences_ = nlohmann::json::object();
};

}  // namespace plimsoll::test
