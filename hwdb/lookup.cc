#include "hwdb/lookup.h"

#include <algorithm>

#include "graph/base/byte_source.h"

namespace plimsoll {
namespace {

std::string without_dashes(std::string_view word) {
  std::string plain(word);
  std::erase(plain, '-');
  return plain;
}

}  // namespace

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool names_part(std::string_view id, std::string_view part) {
  for (size_t at = id.find(part); at != id.npos; at = id.find(part, at + 1)) {
    const size_t end = at + part.size();
    if ((at == 0 || id[at - 1] == '-') && (end == id.size() || id[end] == '-')) return true;
  }
  return false;
}

std::vector<std::string> nearest_few(std::string_view word, std::vector<std::string> allowed) {
  constexpr size_t kFew = 3;
  std::vector<std::string> found, plain;
  for (const std::string& a : allowed) plain.push_back(without_dashes(a));
  while (found.size() < kFew) {
    const std::string best = nearest(without_dashes(word), plain);
    if (best.empty()) break;
    const auto at = std::find(plain.begin(), plain.end(), best);
    found.push_back(allowed[static_cast<size_t>(at - plain.begin())]);
    allowed.erase(allowed.begin() + (at - plain.begin()));
    plain.erase(at);
  }
  return found;
}

Result<std::string> read_data_file(const std::string& path) {
  const Limits limits;
  const Result<ByteSource> source = ByteSource::open(path, limits);
  if (!source) return tl::make_unexpected(source.error());
  if (source->size() > static_cast<uint64_t>(limits.json)) {
    return over_limit(limits, "json", {path, 0, 0, {}});
  }
  std::string text(source->size(), '\0');
  const Result<size_t> got =
      source->read(0, {reinterpret_cast<std::byte*>(text.data()), text.size()});
  if (!got) return tl::make_unexpected(got.error());
  text.resize(*got);
  return text;
}

}  // namespace plimsoll
