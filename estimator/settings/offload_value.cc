#include "estimator/settings/offload_value.h"

#include "estimator/settings/values.h"
#include "graph/base/setting.h"
#include "graph/base/text.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

struct Offloaded {
  std::string_view word;
  bool Offload::*member;
};
constexpr Offloaded kOffloaded[] = {{"states", &Offload::states},
                                    {"parameters", &Offload::parameters},
                                    {"activations", &Offload::activations}};
constexpr std::string_view kNothing = "none";

}  // namespace

std::vector<std::string> offload_words() {
  std::vector<std::string> all{std::string(kNothing)};
  for (const Offloaded& one : kOffloaded) all.emplace_back(one.word);
  return all;
}

Result<void> read_offload(const SettingRow& row, std::string_view text, Request& into) {
  Offload offload;
  const auto parts = split(text, ',');
  for (const std::string_view part : parts) {
    if (parts.size() > 1 && trimmed(part) == kNothing)
      return error("E114", setting(row.name) + ": none excludes the other words", {},
                   "remove it, or the other words");
    const auto at = TRY(parse_word(setting(row.name), trimmed(part), offload_words()));
    if (at > 0) offload.*kOffloaded[at - 1].member = true;
  }
  into.parallel.offload = offload;
  return {};
}

void write_offload(JsonWriter& out, const Request& from) {
  std::string text;
  for (const Offloaded& one : kOffloaded) {
    if (from.parallel.offload.*one.member)
      text += (text.empty() ? "" : ",") + std::string(one.word);
  }
  out.string(text.empty() ? std::string(kNothing) : text);
}

}  // namespace plimsoll
