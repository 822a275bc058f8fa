// docs/papers.md: what papers state beside what the program answers today. Facts are data, one file
// a paper (tests/papers/*.json): commands, the figures of their JSON answers, and what is wanted. A
// fact that does not hold is pinned with its reason ("missed"), and one that holds has none; one
// that no figure here stands for says why ("not_comparable"), whatever an answer would be. With
// PLIMSOLL_PAPERS=write the page is written anew instead of compared.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "tests/support/run_plimsoll.h"

namespace plimsoll::test {
namespace {

using nlohmann::json;

json json_of(const std::filesystem::path& path) {
  json parsed = json::parse(detail::text_of(path.string()), nullptr, false);
  REQUIRE_MESSAGE(!parsed.is_discarded(), path.string());
  return parsed;
}

// Answers of commands, each asked once.
const json& answer_to(const std::string& command) {
  static std::map<std::string, json> answers;
  const auto [at, is_new] = answers.try_emplace(command);
  if (!is_new) return at->second;
  std::istringstream in(command);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  words.emplace_back("--json");
  const Ran ran = run_plimsoll(words, {.folder = PLIMSOLL_SOURCE_DIR, .seconds = 120});
  at->second = json::parse(ran.out, nullptr, false);
  return at->second;
}

// "kernels[kernel^=batch_norm forward]": all elements of a list whose member begins so, or with "="
// is so; "layers" alone: the member; "1" alone: that element.
std::vector<const json*> members(const std::vector<const json*>& of, const std::string& part) {
  const size_t bracket = part.find('[');
  const std::string name = part.substr(0, bracket);
  std::vector<const json*> found;
  for (const json* object : of) {
    if (object->is_object() && object->contains(name)) found.push_back(&object->at(name));
    if (object->is_array() && std::ranges::all_of(name, isdigit) &&
        std::stoul(name) < object->size())
      found.push_back(&object->at(std::stoul(name)));
  }
  if (bracket == part.npos) return found;
  const size_t equals = part.find('=', bracket);
  const bool begins = part[equals - 1] == '^';
  const std::string key = part.substr(bracket + 1, equals - bracket - 1 - (begins ? 1 : 0));
  const std::string wanted = part.substr(equals + 1, part.size() - equals - 2);
  std::vector<const json*> elements;
  for (const json* list : found) {
    for (const json& element : *list) {
      const json& member = element.at(key);
      const std::string text = member.is_string() ? member.get<std::string>() : member.dump();
      if (begins ? text.starts_with(wanted) : text == wanted) elements.push_back(&element);
    }
  }
  return elements;
}

// The sum of what a path leads to; nothing where it leads nowhere. True counts as one.
std::optional<double> figure_at(const json& answer, const std::string& path) {
  std::vector<const json*> at = {&answer};
  std::istringstream in(path);
  for (std::string part; std::getline(in, part, '.');) at = members(at, part);
  std::optional<double> sum;
  for (const json* value : at) {
    if (value->is_boolean()) {
      sum = sum.value_or(0) + (value->get<bool>() ? 1 : 0);
    } else if (value->is_number()) {
      sum = sum.value_or(0) + value->get<double>();
    }
  }
  return sum;
}

// Paths may be added up: "a.b + a.c".
std::optional<double> sum_at(const json& answer, const std::string& paths) {
  constexpr std::string_view kPlus = " + ";
  const size_t plus = paths.find(kPlus);
  const auto first = figure_at(answer, paths.substr(0, plus));
  if (plus == paths.npos || !first) return first;
  const auto rest = sum_at(answer, paths.substr(plus + kPlus.size()));
  return rest ? std::optional(*first + *rest) : std::nullopt;
}

// One figure, the first over the second, or that of the first two over that of the last two.
std::optional<double> value_of_fact(const json& fact) {
  std::vector<double> figures;
  for (const json& figure : fact.at("figures")) {
    const auto value = sum_at(answer_to(figure.at("ask")), figure.at("path"));
    if (!value) return std::nullopt;
    figures.push_back(*value);
  }
  const double scale = fact.value("scale", 1.0);
  REQUIRE((figures.size() == 1 || figures.size() == 2 || figures.size() == 4));
  if (figures.size() == 1) return scale * figures[0];
  const double first = figures[0] / figures[1];
  return scale * (figures.size() == 2 ? first : first / (figures[2] / figures[3]));
}

bool is_within(double value, const json& wanted) {
  const json &low = wanted.at(0), &high = wanted.at(1);
  return (low.is_null() || value >= low.get<double>()) &&
         (high.is_null() || value <= high.get<double>());
}

std::string range_text(const json& wanted) {
  const json &low = wanted.at(0), &high = wanted.at(1);
  if (low.is_null()) return fmt::format("at most {:g}", high.get<double>());
  if (high.is_null()) return fmt::format("at least {:g}", low.get<double>());
  return fmt::format("{:g} to {:g}", low.get<double>(), high.get<double>());
}

struct Tally {
  int held = 0, missed = 0, not_comparable = 0;
  int all() const { return held + missed + not_comparable; }
};

std::string reasons_text(std::string_view title, const std::string& reasons) {
  return reasons.empty() ? "" : fmt::format("\n{}, and why:\n\n{}", title, reasons);
}

// A paper's part of the page.
std::string section_of(const json& paper, Tally& tally) {
  std::string rows, commands, misses, others;
  for (const json& fact : paper.at("facts")) {
    const std::string id = fact.at("id");
    CAPTURE(id);
    if (const std::string why = fact.value("not_comparable", ""); !why.empty()) {
      CHECK_FALSE(fact.contains("missed"));
      ++tally.not_comparable;
      rows += fmt::format("| {} ({}) | {} {} | | not comparable: {} |\n",
                          fact.at("says").get<std::string>(), fact.at("where").get<std::string>(),
                          range_text(fact.at("wanted")), fact.at("unit").get<std::string>(), id);
      others += fmt::format("- {}: {}\n", id, why);
      continue;
    }
    const auto value = value_of_fact(fact);
    const bool holds = value && is_within(*value, fact.at("wanted"));
    const std::string reason = fact.value("missed", "");
    const std::string today = value ? fmt::format("{:.3g}", *value) : "no answer";
    CHECK_MESSAGE(holds == reason.empty(), "today: ", today,
                  ", wanted: ", range_text(fact.at("wanted")));
    (holds ? tally.held : tally.missed) += 1;
    rows += fmt::format("| {} ({}) | {} {} | {} | {} |\n", fact.at("says").get<std::string>(),
                        fact.at("where").get<std::string>(), range_text(fact.at("wanted")),
                        fact.at("unit").get<std::string>(), today,
                        holds ? "holds" : "**missed**: " + id);
    commands += fmt::format("# {}: {}\n", id, fact.at("unit").get<std::string>());
    for (const json& figure : fact.at("figures")) {
      commands += fmt::format("plimsoll {} --json   # {}\n", figure.at("ask").get<std::string>(),
                              figure.at("path").get<std::string>());
    }
    if (!holds) misses += fmt::format("- {}: {}\n", id, reason);
  }
  std::string text = fmt::format("\n## {}\n\n{}.\n\n", paper.at("paper").get<std::string>(),
                                 paper.at("machine").get<std::string>());
  text += "| stated | wanted | today | |\n|---|---|---|---|\n" + rows;
  text += reasons_text("Missed", misses) + reasons_text("Not comparable", others);
  for (const json& erratum : paper.value("errata", json::array()))
    text += fmt::format("\nErratum: {}\n", erratum.get<std::string>());
  return text + "\n```\n" + commands + "```\n";
}

std::string page_of_facts(Tally& tally) {
  std::vector<std::filesystem::path> files;
  const std::filesystem::path folder = std::filesystem::path(PLIMSOLL_SOURCE_DIR) / "tests/papers";
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path());
  std::ranges::sort(files);
  std::string sections;
  for (const auto& file : files) sections += section_of(json_of(file), tally);
  return fmt::format(
             "# What papers measured, and what plimsoll answers\n\n"
             "Written by `tests/cli/papers_test.cc` from `tests/papers/*.json`; do not edit. A "
             "fact "
             "is a figure of\nan answer, the first figure over the second, or that ratio over "
             "another; below each table are\nthe commands, in order, and where in their answers "
             "the figures stand.\n\n"
             "Of {} facts {} hold, {} are missed and {} are not comparable.\n",
             tally.all(), tally.held, tally.missed, tally.not_comparable) +
         sections;
}

}  // namespace

TEST_CASE("papers: each fact holds or is pinned with its reason") {
  if (skipped()) return;
  Tally tally;
  const std::string page = page_of_facts(tally);
  MESSAGE("facts of papers: ", tally.all(), " tested, ", tally.held, " held, ", tally.missed,
          " missed, ", tally.not_comparable, " not comparable");
  CHECK(tally.held > tally.missed);
  const std::string path = std::string(PLIMSOLL_SOURCE_DIR) + "/docs/papers.md";
  const char* const mode = std::getenv("PLIMSOLL_PAPERS");
  if (mode && std::string_view(mode) == "write") {
    std::ofstream(path) << page;
  } else {
    CHECK_MESSAGE(detail::text_of(path) == page,
                  "docs/papers.md is not what is answered today: PLIMSOLL_PAPERS=write");
  }
}

}  // namespace plimsoll::test
