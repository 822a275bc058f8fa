#include "estimator/cli/result_file.h"

#include <filesystem>

#include "graph/base/byte_source.h"
#include "graph/json/reader.h"

namespace plimsoll::cli {
namespace {

// What stands between the tags of the page's data; all of it where there are none.
std::string_view data_of(std::string_view text) {
  constexpr std::string_view kBegin = R"(<script type="application/json" id="plimsoll-result">)";
  const size_t begin = text.find(kBegin);
  if (begin == text.npos) return text;
  text.remove_prefix(begin + kBegin.size());
  return text.substr(0, text.find("</script>"));
}

}  // namespace

Result<std::optional<JsonValue>> read_result(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension != ".json" && extension != ".html") return std::nullopt;
  const auto text = read_text(path);
  if (!text) return tl::make_unexpected(text.error());
  const std::string_view data = data_of(*text);
  if (extension == ".html" && data.size() == text->size()) return std::nullopt;
  auto value = read_json(data, path);
  if (!value) return tl::make_unexpected(value.error());
  const JsonValue* const schema = value->find("schema");
  const bool is_estimate = schema && schema->string() && *schema->string() == "plimsoll.estimate";
  return is_estimate ? std::optional<JsonValue>(std::move(*value)) : std::nullopt;
}

}  // namespace plimsoll::cli
