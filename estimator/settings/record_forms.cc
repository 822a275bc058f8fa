#include "estimator/settings/record_forms.h"

#include <algorithm>
#include <array>

#include "graph/base/text.h"
#include "graph/ir/optimizer.h"
#include "graph/ir/precision.h"

namespace plimsoll {
namespace {

// The word that the text begins with; longer ones stand before those that they begin with.
template <size_t N>
std::optional<std::string> first_word(const std::string& text,
                                      const std::array<std::string_view, N>& words) {
  const auto word =
      std::ranges::find_if(words, [&](std::string_view w) { return text.starts_with(w); });
  return word == words.end() ? std::nullopt : std::optional<std::string>(*word);
}

}  // namespace

std::optional<std::string> written_mode(const std::string& written) {
  constexpr std::array<std::string_view, 5> kWords = {"train_no_update", "train", "inference",
                                                      "forward", "serve"};
  auto word = first_word(written, kWords);
  if (word == "forward") word = "inference";
  return word;
}

// A source may add to the word: "mse (mean)"; the form of a loss is another setting's.
std::optional<std::string> written_loss(const std::string& written) {
  if (written.starts_with("chunked cross entropy")) return "";
  for (int loss = 0; loss <= static_cast<int>(Loss::kNone); ++loss) {
    const std::string_view word = name(static_cast<Loss>(loss));
    if (written.starts_with(word)) return std::string(word);
  }
  return std::nullopt;
}

std::optional<std::string> written_optimizer(const std::string& written) {
  const OptimizerRow* row = spoken_optimizer(written);
  return row ? std::optional<std::string>(row->name) : std::nullopt;
}

// Sources call every block "full", and add to it; their other words name no module, and are refused
// as such.
std::optional<std::string> written_checkpoint(const std::string& written) {
  if (written == "every second layer") return "blocks/2";
  if (written == "per-op selective") return "operators";  // torchtitan's word
  if (written == "selective") return std::nullopt;        // of several programs, which differ
  return written == "full" || written.starts_with("full (") ? "blocks" : written;
}

// Half storage with fp32 arithmetic keeps the same bytes as half.
std::optional<std::string> written_precision(const std::string& written) {
  const PrecisionRow* row = spoken_precision(written);
  return row ? std::optional<std::string>(row->name) : std::nullopt;
}

std::optional<std::string> written_version(const std::string& written) {
  const auto version = version_as_written(written);
  return version ? version->text() : "";
}

std::optional<std::string> written_schedule(const std::string& written) {
  static constexpr std::string_view kWords[] = {"1f1b", "gpipe", "interleaved", "zb"};
  return std::ranges::find(kWords, written) != std::end(kWords) ? written : "";
}

std::optional<std::string> written_stage(const std::string& written) {
  return written == "0" ? "" : written;
}

std::optional<std::string> written_attention(const std::string& written) {
  static constexpr std::string_view kWords[] = {"math",           "fused", "eager", "sdpa",
                                                "masked-softmax", "cudnn", "flash", "flash-1"};
  for (const std::string_view package : {"flash_attention", "flash-attn", "flash_attn"}) {
    if (written.starts_with(package)) return "flash";
  }
  if (written == "flex_attention" || written == "xformers") return std::nullopt;
  return std::ranges::find(kWords, written) != std::end(kWords) ? written : "";
}

std::optional<std::string> written_recurrent(const std::string& written) {
  return written == "Yes" ? "library" : written == "No" ? "unrolled" : "";
}

std::optional<std::string> written_offload(const std::string& written) {
  // Gradients go where the optimizer's states are.
  static constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"optimizer", "states"},
      {"states", "states"},
      {"parameters", "parameters"},
      {"activations", "activations"},
      {"gradients", ""},
      {"none", ""},
      {"false", ""},
      {"", ""}};
  std::string text;
  for (const std::string_view part : split(written, ',')) {
    const auto* word =
        std::ranges::find(kWords, trimmed(part), [](const auto& w) { return w.first; });
    if (word == std::end(kWords)) return std::nullopt;
    if (!word->second.empty()) text += (text.empty() ? "" : ",") + std::string(word->second);
  }
  return text;
}

void write_nothing(JsonWriter&, const Request&) {}

void write_batch(JsonWriter& out, const Request& from) {
  if (!from.batch) return;
  const auto plan = plan_on(from.parallel, from.gpu_count);
  const int64_t replicas = plan ? plan->mesh.replicas() : from.gpu_count;
  out.key("batch").integer(*from.batch * replicas * from.recipe.accumulate);
}

void write_gpus(JsonWriter& out, const Request& from) {
  if (from.gpu_count > 1) out.key("n_gpus").integer(from.gpu_count);
}

void write_nodes(JsonWriter& out, const Request& from) {
  if (from.nodes > 1) out.key("nodes").integer(from.nodes);
}

void write_image(JsonWriter& out, const Request& from) {
  if (!from.image) return;
  out.key("input").begin_array();
  out.integer(3).integer(*from.image).integer(*from.image).end_array();
}

void write_sequence(JsonWriter& out, const Request& from) {
  const auto sequence = from.dims.find("sequence");
  if (sequence != from.dims.end()) out.key("sequence").integer(sequence->second);
}

void write_framework(JsonWriter& out, const Request& from) {
  const std::string_view framework = from.framework;
  const size_t dash = framework.find('-');
  out.key("framework").string(framework.substr(0, dash));
  if (dash != framework.npos) out.key("framework_version").string(framework.substr(dash + 1));
}

void write_recurrent(JsonWriter& out, const Request& from) {
  if (from.recipe.unrolled) out.key("cudnn_rnn").string(*from.recipe.unrolled ? "No" : "Yes");
}

std::optional<Version> version_as_written(std::string_view text) {
  if (!text.empty() && (text.front() == 'R' || text.front() == 'v')) text.remove_prefix(1);
  auto version = parse_version(text);
  if (version && version->numbers.size() == 1 && version->numbers[0] >= 1000) {
    const int number = version->numbers[0];
    version->numbers = {number / 1000, number / 100 % 10, number % 100};
  }
  return version;
}

}  // namespace plimsoll
