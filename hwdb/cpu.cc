#include "hwdb/cpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "graph/base/among.h"
#include "graph/base/setting.h"
#include "graph/base/text.h"
#include "graph/base/try.h"
#include "graph/json/read_object.h"
#include "hwdb/hwdb.h"

namespace plimsoll {
namespace {

constexpr std::string_view kCpusFile = "cpus.json";
constexpr double kReferenceClock = 3.7;  // GHz, of a Skylake thread

bool is_part(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '+';
}

bool has_digit(std::string_view word) {
  return word.find_first_of("0123456789") != std::string_view::npos;
}

// What a name says of which processor it is: its family, and the words that have digits.
struct NameParts {
  std::string family;
  std::vector<std::string> numbers;  // sorted
};

NameParts parts_of(std::string_view name) {
  static constexpr std::string_view kFamilies[] = {"xeon", "core", "epyc", "ryzen"};
  const std::string text = lower_case(name.substr(0, name.find('@'))) + " ";
  NameParts parts;
  std::string word;
  for (const char c : text) {
    if (is_part(c)) {
      word += c;
      continue;
    }
    if (word == "x") parts.numbers.clear();  // "2 x": how many there are
    if (parts.family.empty() && among(word, kFamilies)) parts.family = word;
    if (has_digit(word) && !word.ends_with("-core") && !word.ends_with("-cores"))
      parts.numbers.push_back(word);
    word.clear();
  }
  std::ranges::sort(parts.numbers);
  return parts;
}

// "Gold 6130 16 3.7": a model, its cores and its clock in GHz.
std::optional<Cpu> cpu_of(std::string_view text, const std::string& family, double per_clock) {
  const size_t last = text.rfind(' ');
  const size_t before = last == text.npos || last == 0 ? text.npos : text.rfind(' ', last - 1);
  if (before == text.npos) return std::nullopt;
  const auto clock = parse_number<double>(text.substr(last + 1));
  const auto cores = parse_number<int64_t>(text.substr(before + 1, last - before - 1));
  if (!clock || !cores) return std::nullopt;
  return Cpu{family + " " + std::string(text.substr(0, before)), *cores,
             *clock / kReferenceClock * per_clock, 0, false};
}

Result<std::vector<Cpu>> read_cpus(const Hwdb& hwdb) {
  const auto text = TRY(hwdb.read(kCpusFile));
  return read_object(text, kCpusFile, [&](JsonObject& root) {
    root.schema("plimsoll.cpus", 1);
    std::map<std::string, double> per_clock;
    for (const JsonValue& each : root.required_list("cores")) {
      JsonObject core(each, root.file(), root.faults());
      core.required_string("source");
      const std::string name = core.required_string("core");
      per_clock[name] = core.required_real("per_clock", {.low = .1, .high = 10});
      core.finish();
    }
    std::vector<Cpu> cpus;
    for (const JsonValue& each : root.required_list("families")) {
      JsonObject row(each, root.file(), root.faults());
      row.required_string("source");
      const std::string family = row.required_string("family"), core = row.required_string("core");
      const bool assumed = row.optional_bool("assumed").value_or(false);
      const int64_t year = row.required_integer("year", {.low = 2000, .high = 2100});
      const std::string models = row.required_string("models");
      for (const std::string_view model : split(models, ',')) {
        auto cpu = cpu_of(trimmed(model), family, per_clock[core]);
        if (!cpu) continue;
        cpu->year = year;
        cpu->assumed = assumed;
        cpus.push_back(std::move(*cpu));
      }
      row.finish();
    }
    return cpus;
  });
}

// The words that differ most from processor to processor are the longest.
bool is_meant(const NameParts& name, const NameParts& row) {
  if (!name.family.empty() && name.family != row.family) return false;
  const auto longest = std::ranges::max_element(
      row.numbers, {}, [](const std::string& word) { return word.size(); });
  return longest != row.numbers.end() && std::ranges::binary_search(name.numbers, *longest) &&
         std::ranges::includes(row.numbers, name.numbers);
}

}  // namespace

Result<Cpu> find_cpu(const Hwdb& hwdb, std::string_view name) {
  const auto cpus = TRY(read_cpus(hwdb));
  const NameParts asked = parts_of(name);
  const Cpu* found = nullptr;
  bool exact = false;
  std::vector<std::string> names;
  for (const Cpu& cpu : cpus) {
    names.push_back(cpu.name);
    const NameParts row = parts_of(cpu.name);
    if (exact || !is_meant(asked, row)) continue;
    exact = asked.numbers == row.numbers;
    if (exact || !found) found = &cpu;
  }
  if (found) return *found;
  const std::string near = nearest(name, names);
  return error("E147", fmt::format("{}: unknown processor", setting("cpu", name)), {},
               near.empty()
                   ? fmt::format("{} takes a file with the speed of one thread", setting("host"))
                   : fmt::format("did you mean '{}'?", near));
}

}  // namespace plimsoll
