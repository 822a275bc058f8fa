// Which optimizer a record of a measured run means.
#include <algorithm>
#include <string>

#include "graph/ir/optimizer.h"

namespace plimsoll {
namespace {

std::string letters_of(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') letters += static_cast<char>(c + 32);
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) letters += c;
  }
  return letters;
}

// Letters of the row's words, all of which are among these letters; else 0.
size_t letters_said(const OptimizerRow& row, std::string_view letters) {
  std::string_view rest = row.spoken.empty() ? row.name : row.spoken;
  size_t count = 0;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find_first_of(" -"), rest.size());
    if (letters.find(rest.substr(0, end)) == letters.npos) return 0;
    count += end;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return count;
}

}  // namespace

const OptimizerRow* spoken_optimizer(std::string_view text) {
  const std::string letters = letters_of(text);
  const OptimizerRow* found = nullptr;
  size_t most = 0;
  for (const OptimizerRow& row : optimizers()) {
    const size_t count = letters_said(row, letters);
    if (count == 0 || count < most) continue;
    most = count;  // of equals the later one: "nesterov momentum"
    found = &row;
  }
  return found;
}

}  // namespace plimsoll
