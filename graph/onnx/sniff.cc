#include "graph/onnx/sniff.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <string>
#include <string_view>

namespace plimsoll::onnx {
namespace {

struct Magic {
  size_t at = 0;
  std::string_view bytes;
  std::string_view code;
  std::string_view is;  // "is ..."
  std::string_view help;
};

constexpr std::string_view kExport = "export it to ONNX first";

using namespace std::string_view_literals;

constexpr std::array kMagics = {
    Magic{0, "version https://git-lfs", "E202", "a Git LFS pointer, not a model",
          "run 'git lfs pull'"},
    Magic{0, "PK\x03\x04", "E203", "a zip archive, such as a PyTorch checkpoint", kExport},
    Magic{0, "\x80\x02", "E203", "a pickle, such as a PyTorch checkpoint", kExport},
    Magic{0, "\x80\x03", "E203", "a pickle, such as a PyTorch checkpoint", kExport},
    Magic{0, "\x80\x04", "E203", "a pickle, such as a PyTorch checkpoint", kExport},
    Magic{0, "\x80\x05", "E203", "a pickle, such as a PyTorch checkpoint", kExport},
    Magic{4, "TFL3", "E203", "a TensorFlow Lite model", "convert it with tf2onnx"},
    Magic{4, "ORTM", "E203", "an ONNX Runtime model", "use the .onnx file it was made from"},
    Magic{0, "GGUF", "E203", "a GGUF file, which has weights and no graph", kExport},
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
    Magic{0, "ir_version", "E203", "an ONNX model in text form", "convert it to the binary form"},
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

}  // namespace

Result<void> refuse_other_formats(const ByteSource& source) {
  const Place place{.file = source.name(), .node = {}};
  if (source.size() == 0) return error("E201", "is empty (0 bytes)", place);
  std::array<std::byte, 512> buffer{};
  const auto got = source.read(0, buffer);
  if (!got) return tl::make_unexpected(got.error());
  const std::string_view head(reinterpret_cast<const char*>(buffer.data()), *got);
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
  if (begins(text, "<?xml")) return error("E203", "is XML, not an ONNX model", place);
  if (is_safetensors(head)) {
    return error("E203", "is a safetensors file, which has weights and no graph", place,
                 std::string(kExport));
  }
  if (!text.empty() && (text.front() == '{' || text.front() == '[')) {
    return error("E203", "is JSON, not an ONNX model", place,
                 "a model config's name must end in .json");
  }
  return {};
}

}  // namespace plimsoll::onnx
