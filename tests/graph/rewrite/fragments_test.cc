// Every fragment that passes of graph/rewrite ask for, and every pattern, is in the notation and
// names operators that there are: what is not matches nothing, and nobody would notice.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "graph/ops/op_row.h"
#include "graph/rewrite/pattern.h"
#include "graph/rewrite/patterns.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

using patterns::Expression;

// The texts of a source's fragments: `constinit const Fragment kA("..."), kB("..." "...");`.
std::vector<std::string> fragments_of(const std::string& source) {
  static const std::regex kDeclaration("constinit const (patterns::)?Fragment ([^;]|;[ a-z])*;\n");
  static const std::regex kText("k[A-Za-z]+\\(\\s*((\"[^\"]*\"\\s*)+)\\)"), kPiece("\"([^\"]*)\"");
  std::vector<std::string> texts;
  for (std::sregex_iterator at(source.begin(), source.end(), kDeclaration), end; at != end; ++at) {
    const std::string declaration = at->str();
    for (std::sregex_iterator one(declaration.begin(), declaration.end(), kText); one != end;
         ++one) {
      const std::string pieces = (*one)[1];
      std::string text;
      for (std::sregex_iterator piece(pieces.begin(), pieces.end(), kPiece); piece != end; ++piece)
        text += (*piece)[1];
      texts.push_back(text);
    }
  }
  return texts;
}

// The operators that a text names: "Conv", "ConvTranspose" of "y = Conv|ConvTranspose(x, w)".
std::vector<std::string> operators_in(const std::string& text) {
  static const std::regex kOperator("\\b([A-Z][A-Za-z0-9]*)(?=[|*?(])");
  std::vector<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), kOperator), end; at != end; ++at)
    names.push_back((*at)[1]);
  return names;
}

// What is wrong with a text; empty where nothing is.
std::string fault(const std::string& text) {
  static const std::set<std::string_view> kOperators = [] {
    std::set<std::string_view> names;
    for (const OpRow* row : all_ops()) names.insert(row->name);
    return names;
  }();
  const auto parsed = Expression::parse(text);
  if (!parsed) return parsed.error().front().message;
  for (const std::string& name : operators_in(text)) {
    if (!kOperators.contains(name)) return "no operator is called " + name;
  }
  return {};
}

}  // namespace

TEST_CASE("every fragment is in the notation and names operators that there are") {
  size_t found = 0;
  for (const auto& entry :
       fs::directory_iterator(fs::path(PLIMSOLL_SOURCE_DIR) / "graph/rewrite")) {
    if (entry.path().extension() != ".cc") continue;
    std::ifstream in(entry.path());
    std::stringstream source;
    source << in.rdbuf();
    for (const std::string& text : fragments_of(source.str())) {
      CAPTURE(entry.path().filename().string());
      CAPTURE(text);
      CHECK(fault(text) == "");
      ++found;
    }
  }
  CHECK(found > 80);
}

TEST_CASE("every pattern names operators that there are") {
  for (const auto& table : pattern_tables()) {
    for (const patterns::Pattern& row : table) {
      CAPTURE(row.name);
      CHECK(fault(std::string(row.match)) == "");
      CHECK((row.result.empty() || fault(std::string(row.result)).empty()));
    }
  }
}

TEST_CASE("a fragment that is malformed, or of no operator, is found") {
  const std::string source =
      "constinit const Fragment kGood(\"y = Conv(x)\"), kWrong(\n    \"y = Transpos|\"\n    "
      "\"Squeeze(x)\");\nconstinit const patterns::Fragment kOpen(\"w = Exp(_); y = Mul(w!, "
      "_\");\n";
  const auto texts = fragments_of(source);
  REQUIRE(texts.size() == 3);
  CHECK(fault(texts[0]) == "");
  CHECK(fault(texts[1]) == "no operator is called Transpos");
  CHECK_FALSE(fault(texts[2]).empty());
}

}  // namespace plimsoll
