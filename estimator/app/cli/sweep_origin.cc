#include "estimator/app/cli/sweep_origin.h"

#include <fmt/format.h>

#include <filesystem>
#include <span>

#include "estimator/app/report/version.h"
#include "graph/base/byte_source.h"
#include "graph/base/escape.h"
#include "graph/base/hash.h"
#include "graph/base/try.h"
#include "graph/json/reader.h"
#include "graph/json/writer.h"

namespace plimsoll::cli {
namespace {

constexpr int kVersionOfForm = 1;

std::string digest_of(std::string_view text) { return sha256_hex(std::as_bytes(std::span(text))); }

// Larger ones are told by size and time of change: reading them would take longer than the sweep.
Result<std::string> digest_of_file(const std::string& path) {
  constexpr uint64_t kLargest = uint64_t{256} << 20;
  const auto source = TRY(ByteSource::open(path));
  auto hash = TRY(sha256_of(source, kLargest));
  if (hash) return *hash;
  std::error_code unknown;
  const auto changed = std::filesystem::last_write_time(path, unknown);
  return fmt::format("{} bytes, changed {}", source.size(), changed.time_since_epoch().count());
}

// All of the database, a user's folder with it, and the machine's own card.
Result<std::string> digest_of_data(const Hwdb& hwdb) {
  std::string all;
  for (const std::string& name : hwdb.names("")) {
    auto text = hwdb.read(name);
    if (!text) return text;
    all += fmt::format("{} {}\n", name, *text);
  }
  if (const auto local = hwdb.device("local"); local)
    all += fmt::format("{} {}\n", local->id, local->origin);
  return digest_of(all);
}

Result<std::string> digest_of_flags(const SweepOrigin::Flags& flags) {
  std::string all;
  std::error_code unknown;
  for (const auto& [name, value] : flags) {
    all += fmt::format("{}={}\n", name, value);
    if (!std::filesystem::is_regular_file(value, unknown)) continue;
    auto digest = digest_of_file(value);
    if (!digest) return digest;
    all += *digest + "\n";
  }
  return digest_of(all);
}

std::string words_of(const std::string& what) {
  if (what.starts_with("model ")) return "the " + shortened(what, 80);
  if (what == "plimsoll") return "the version";
  if (what == "flags") return "the options";
  if (what == "data") return "the data of GPUs and frameworks";
  return "the " + what;
}

}  // namespace

Result<SweepOrigin> SweepOrigin::make(const std::string& plan,
                                      const std::vector<std::string>& models, const Flags& flags,
                                      const Hwdb& hwdb) {
  std::vector<std::pair<std::string, Result<std::string>>> digests;
  digests.emplace_back("plan", digest_of_file(plan));
  digests.emplace_back("flags", digest_of_flags(flags));
  digests.emplace_back("data", digest_of_data(hwdb));
  for (const std::string& model : models) {
    if (!model.starts_with("builtin:"))  // those are of the version
      digests.emplace_back("model " + model, digest_of_file(model));
  }
  SweepOrigin origin;
  origin.facts_.emplace_back("plimsoll", fmt::format("{} {}", kVersion, commit()));
  for (auto& [what, digest] : digests) {
    if (!digest) return tl::make_unexpected(digest.error());
    origin.facts_.emplace_back(what, std::move(*digest));
  }
  return origin;
}

std::string SweepOrigin::line() const {
  JsonWriter out;
  out.begin_object();
  out.key("schema").string("plimsoll.sweep-log");
  out.key("version").integer(kVersionOfForm);
  for (const auto& [what, digest] : facts_) out.key(what).string(digest);
  return out.end_object().take();
}

std::string SweepOrigin::unlike(std::string_view line) const {
  const auto object = read_json(line, "", {});
  const JsonValue* const version = object ? object->find("version") : nullptr;
  if (!version || version->integer() != kVersionOfForm) return "its form";
  std::string list;
  for (const auto& [what, digest] : facts_) {
    const JsonValue* const had = object->find(what);
    const std::string* const text = had ? had->string() : nullptr;
    if (text && *text == digest) continue;
    list += (list.empty() ? "" : ", ") + words_of(what);
  }
  return list;
}

}  // namespace plimsoll::cli
