#include "estimator/model/name_remedy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "graph/base/escape.h"
#include "graph/base/folder.h"
#include "graph/base/text.h"
#include "graph/builtin/builtin.h"
#include "graph/family/family.h"

namespace plimsoll {
namespace {

// How a library makes a model of a name; {} is the name. All but the last have a prefix "hf:".
struct Library {
  std::string_view prefix, constructor;
};

constexpr std::array kLibraries = {
    Library{"torchvision:", "torchvision.models.{}()"},
    Library{"timm:", "timm.create_model(\"{}\")"},
    Library{"diffusers:", "UNet2DConditionModel.from_config(\"{}\")"},
    Library{"hf:", "AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(\"{}\"))"},
    Library{"", "AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(\"{}\"))"},
};

// "meta-llama/Llama-3.1-8B": an owner and a name, as hubs write them, and no file's ending.
bool names_hub_model(std::string_view name) {
  constexpr std::array<std::string_view, 10> kEndings = {
      ".onnx", ".json", ".pt", ".pth", ".py", ".ckpt", ".yaml", ".yml", ".bin", ".safetensors"};
  const size_t slash = name.find('/');
  if (slash == 0 || slash == name.npos || slash + 1 == name.size()) return false;
  if (name.find('/', slash + 1) != name.npos || name.front() == '.' || name.front() == '~')
    return false;
  return std::ranges::none_of(kEndings, [&](std::string_view end) { return name.ends_with(end); });
}

std::string of_library(std::string_view name) {
  for (const Library& library : kLibraries) {
    if (library.prefix.empty() ? !names_hub_model(name) : !name.starts_with(library.prefix))
      continue;
    const std::string plain = shortened(name.substr(library.prefix.size()), 60);
    const std::string made = fmt::format(fmt::runtime(library.constructor), plain);
    return fmt::format("in Python: plimsoll.from_torch(lambda: {}, inputs)", made);
  }
  return {};
}

std::string of_folder(const std::string& folder) {
  if (path_exists(path_in(folder, "saved_model.pb"))) {
    return "it is a TensorFlow SavedModel: "
           "python -m tf2onnx.convert --saved-model FOLDER --output model.onnx";
  }
  if (path_exists(path_in(folder, "config.json"))) {
    return "it is a Hugging Face model; in Python: plimsoll.from_torch(lambda: "
           "AutoModel.from_config(AutoConfig.from_pretrained(FOLDER)), inputs)";
  }
  constexpr size_t kLookedAt = 1000;
  const std::vector<std::string> names = names_in(folder, kLookedAt);
  const bool models =
      std::ranges::any_of(names, [](const std::string& name) { return name.ends_with(".onnx"); });
  return models ? "" : "a Hugging Face model folder has a config.json; this one has none";
}

// "HF:OWNER/NAME" and "https://HUB.TLD/OWNER/NAME/tree/main" without what is around owner and name.
std::string hub_name(const std::string& name) {
  constexpr std::string_view kPrefix = "hf:", kScheme = "://";
  if (lower_case(name).starts_with(kPrefix)) return name.substr(kPrefix.size());
  const size_t scheme = name.find(kScheme);
  const std::string address = scheme == name.npos ? name : name.substr(scheme + kScheme.size());
  const size_t host = address.find('/');
  const size_t owner = host == address.npos ? host : address.find('/', host + 1);
  const size_t dot = address.find('.');
  if (owner == address.npos || dot == 0 || dot > host) return name;
  return address.substr(host + 1, address.find_first_of("/?#", owner + 1) - host - 1);
}

}  // namespace

std::string model_remedy(const std::string& given) {
  if (is_folder(given)) return of_folder(given);
  const std::string name = hub_name(given);
  const size_t colon = name.find(':');
  const std::string plain = colon == name.npos ? name : name.substr(colon + 1);
  if (names_hub_model(name) && published_config(name))
    return fmt::format("its configuration comes with Plimsoll: hf:{}", shortened(name, 60));
  const std::string other = of_library(name);
  if (plain.find('/') != plain.npos) return other;
  constexpr std::string_view kOnnx = ".onnx";
  const std::string near = nearest_builtin(
      plain.ends_with(kOnnx) ? plain.substr(0, plain.size() - kOnnx.size()) : plain);
  if (near.empty()) return other;
  return other.empty() ? fmt::format("did you mean builtin:{}?", near)
                       : fmt::format("did you mean builtin:{}? Else {}", near, other);
}

}  // namespace plimsoll
