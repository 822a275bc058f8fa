#include "graph/onnx/file_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>

#include "graph/base/try.h"
#include "graph/onnx/file_type_text.h"

namespace plimsoll::onnx {
namespace {

struct Magic {
  size_t at = 0;
  std::string_view bytes;
  std::string_view code;
  std::string_view is;  // "is ..."
  std::string_view help;
};

constexpr std::string_view kExport =
    "load it in Python: plimsoll.from_torch(module, inputs), or torch.onnx.export(module, inputs, "
    "'model.onnx')";
constexpr std::string_view kWeights =
    "Plimsoll needs the module, not its weights; in Python: plimsoll.from_torch(module, inputs), "
    "or torch.onnx.export(module, inputs, 'model.onnx')";

using namespace std::string_view_literals;

constexpr std::array kMagics = {
    Magic{0, "version https://git-lfs", "E202", "a Git LFS pointer, not a model",
          "run 'git lfs pull'"},
    Magic{0, "\x80\x02", "E203", "a pickle, such as a PyTorch checkpoint", kExport},
    Magic{0, "\x80\x03", "E203", "a pickle, such as a PyTorch checkpoint", kExport},
    Magic{0, "\x80\x04", "E203", "a pickle, such as a PyTorch checkpoint", kExport},
    Magic{0, "\x80\x05", "E203", "a pickle, such as a PyTorch checkpoint", kExport},
    Magic{4, "TFL3", "E203", "a TensorFlow Lite model", "convert it with tf2onnx"},
    Magic{4, "ORTM", "E203", "an ONNX Runtime model", "use the .onnx file it was made from"},
    Magic{0, "GGUF", "E203", "a GGUF file, which has weights and no graph", kWeights},
    Magic{0, "\x93NUMPY", "E203", "a NumPy array", kWeights},
    Magic{0, "ftrt", "E203", "a TensorRT engine", "use the .onnx file it was made from"},
    Magic{0, "ptrt", "E203", "a TensorRT engine", "use the .onnx file it was made from"},
    Magic{0, "\x89HDF\r\n\x1a\n", "E203", "an HDF5 file, such as a Keras model",
          "convert it with tf2onnx"},
    Magic{0, "\x1f\x8b", "E203", "compressed with gzip", "unpack it first"},
    Magic{0, "BZh", "E203", "compressed with bzip2", "unpack it first"},
    Magic{0,
          "\xfd"
          "7zXZ\0"sv,
          "E203", "compressed with xz", "unpack it first"},
    Magic{0, "\x28\xb5\x2f\xfd", "E203", "compressed with zstd", "unpack it first"},
    Magic{257, "ustar", "E203", "a tar archive", "unpack it first"},
    Magic{0, "{\\rtf", "E203", "a text document", ""},
};

std::string_view skip_space(std::string_view text) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  const size_t at = text.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos ? std::string_view() : text.substr(at);
}

bool begins(std::string_view text, std::string_view lower) {
  if (text.size() < lower.size()) return false;
  for (size_t i = 0; i < lower.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(text[i])) != lower[i]) return false;
  }
  return true;
}

// An 8-byte header length, then a JSON object that fills it.
bool is_safetensors(std::string_view head) {
  return head.size() > 9 && head[8] == '{' && head.substr(4, 4) == "\0\0\0\0"sv;
}

struct Format {
  std::string_view is, help;
};

// By the name of an archive's first member (PKWARE's APPNOTE, 4.3.7).
Format zip_format(std::string_view head) {
  constexpr size_t kNameLength = 26;
  constexpr size_t kName = 30;
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(head[at]); };
  const size_t length = head.size() > kName ? byte(kNameLength) + 256 * byte(kNameLength + 1) : 0;
  const std::string_view name = head.substr(std::min(kName, head.size()), length);
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (name.ends_with(".npy")) return {"an archive of NumPy arrays", kWeights};
  if (name == "metadata.json" || name == "config.json" || name == "model.weights.h5")
    return {"a Keras model", "convert it with tf2onnx"};
  if (has("data.pkl") || has("/version") || has("/byteorder") || has("/code/") ||
      has("archive_format") || has("constants.pkl") || has(".data/"))
    return {"a PyTorch file: weights, or a module that is not exported to ONNX", kExport};
  return {"a zip archive, such as a PyTorch checkpoint", kExport};
}

// Protobuf messages of others, which begin with tags that ONNX has for something else: TensorFlow's
// GraphDef and SavedModel, Paddle's ProgramDesc, Caffe's NetParameter, Core ML's Model.
std::optional<Format> protobuf_format(std::string_view head) {
  const auto behind_length = [&](size_t at) -> int {
    while (at < head.size() && (static_cast<unsigned char>(head[at]) & 0x80) != 0) ++at;
    return at + 1 < head.size() ? static_cast<unsigned char>(head[at + 1]) : -1;
  };
  constexpr int kBytes1 = 0x0a;  // field 1, bytes
  constexpr int kInteger1 = 0x08;
  constexpr int kBytes2 = 0x12;
  if (head.size() < 4) return std::nullopt;
  if (head[0] == kBytes1) {
    const int first = behind_length(1);
    if (first == kInteger1) return Format{"a Paddle program", "convert it with paddle2onnx"};
    if (first == kBytes1) return Format{"a TensorFlow graph", "convert it with tf2onnx"};
    return Format{"not an ONNX model; it may be a Caffe network",
                  "Plimsoll reads ONNX: export the network to it"};
  }
  if (head[0] != kInteger1 || head[2] != kBytes2 || behind_length(3) != kBytes1)
    return std::nullopt;
  if (head[1] == 1) {
    return Format{"a TensorFlow SavedModel",
                  "convert its folder: python -m tf2onnx.convert --saved-model FOLDER --output "
                  "model.onnx"};
  }
  return Format{"a Core ML model", "export the network to ONNX from where it was trained"};
}

tl::unexpected<Diagnostics> refuse(const Place& place, const Format& format) {
  return error("E203", fmt::format("is {}", format.is), place, std::string(format.help));
}

}  // namespace

Result<void> refuse_other_json(std::string_view text, const std::string& file) {
  if (text.find("\"schema\"") != std::string_view::npos) return {};
  const std::string_view head = skip_space(text);
  const auto format = is_section(head) ? text_format(head) : json_format(text);
  return format ? refuse({.file = file, .node = {}}, {format->is, format->help}) : Result<void>();
}

Result<void> refuse_other_formats(const ByteSource& source) {
  const Place place{.file = source.name(), .node = {}};
  if (source.size() == 0) return error("E201", "is empty (0 bytes)", place);
  std::array<std::byte, 4096> buffer{};
  const auto got = TRY(source.read(0, buffer));
  const std::string_view head(reinterpret_cast<const char*>(buffer.data()), got);
  for (const Magic& magic : kMagics) {
    if (head.size() < magic.at || head.substr(magic.at, magic.bytes.size()) != magic.bytes) {
      continue;
    }
    return error(std::string(magic.code), fmt::format("is {}", magic.is), place,
                 std::string(magic.help));
  }
  const std::string_view text = skip_space(head);
  if (begins(text, "<!doctype html") || begins(text, "<html")) {
    return error("E202", "is an HTML page", place, "fetch the model itself, not the page about it");
  }
  if (begins(text, "<net ") || text.find("<net name=") != std::string_view::npos)
    return refuse(place, {"a network of OpenVINO", "use the .onnx file it was made from"});
  if (begins(text, "<?xml")) return error("E203", "is XML, not an ONNX model", place);
  if (is_safetensors(head)) {
    return refuse(place, {"a safetensors file, which has weights and no graph", kWeights});
  }
  if (!text.empty() && (text.front() == '{' || text.front() == '[') && !is_section(text)) {
    return refuse(place, {"JSON, not an ONNX model", "a model config's name must end in .json"});
  }
  if (head.starts_with("PK\x03\x04")) return refuse(place, zip_format(head));
  if (is_text(head)) {
    const TextFormat format = text_format(text);
    return refuse(place, {format.is, format.help});
  }
  if (const auto format = protobuf_format(head)) return refuse(place, *format);
  return {};
}

}  // namespace plimsoll::onnx
