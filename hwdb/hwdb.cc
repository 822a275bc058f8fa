#include "hwdb/hwdb.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>

#include "graph/base/byte_source.h"
#include "graph/base/escape.h"
#include "graph/base/folder.h"
#include "graph/base/text.h"
#include "graph/base/try.h"
#include "hwdb/device_names.h"
#include "hwdb/lookup.h"
#include "hwdb/other_frameworks.h"

namespace plimsoll {

namespace {

constexpr std::string_view kExtension = ".json";

// "pytorch-1.13" and "pytorch" of "pytorch".
bool is_profile_of(std::string_view id, std::string_view framework) {
  if (!id.starts_with(framework)) return false;
  id.remove_prefix(framework.size());
  return id.empty() || (id.front() == '-' && parse_version(id.substr(1)).has_value());
}

// 1.13 of "pytorch-1.13"; none of "caffe".
Version profile_version(std::string_view id, std::string_view framework) {
  id.remove_prefix(std::min(id.size(), framework.size() + 1));
  return parse_version(id).value_or(Version{});
}

// The files "devices/x.json" and so on of a folder, sorted. Other files there are not ours.
std::vector<std::string> list_folder(const std::string& folder) {
  struct Room {
    const char* name;
    std::string_view extension;
  };
  constexpr Room kRooms[] = {{"", kExtension},
                             {"calibrations/", kExtension},
                             {"devices/", kExtension},
                             {"frameworks/", kExtension},
                             {"hosts/", kExtension},
                             {"links/", kExtension},
                             {"workspaces/", kExtension},
                             {"workspaces/", ".bin"}};
  std::vector<std::string> names;
  for (const Room& room : kRooms) {
    for (const std::string& file : names_in(path_in(folder, room.name))) {
      if (file.ends_with(room.extension)) names.push_back(room.name + file);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<Host> read_own_host(const std::string& path) {
  const Result<std::string> text = read_text(path);
  if (!text) return tl::make_unexpected(text.error());
  return read_host(*text, path, {});
}

tl::unexpected<Diagnostics> unknown_framework(std::string_view name, const std::string& family,
                                              const std::vector<FrameworkProfile>& known,
                                              const std::vector<std::string>& ids) {
  std::set<std::string> words;
  for (const FrameworkProfile& profile : known) {
    words.insert(profile.framework);
    words.insert(profile.aliases.begin(), profile.aliases.end());
  }
  const std::string help(help_for_framework(family));
  const std::vector<std::string> near = nearest_few(family, {words.begin(), words.end()});
  if (!help.empty()) {
    return error("E143", fmt::format("unknown framework \"{}\"", shortened(name, kQuotedColumns)),
                 {}, help);
  }
  return error("E143", fmt::format("unknown framework \"{}\"", shortened(name, kQuotedColumns)), {},
               fmt::format("{}: {}", near.empty() ? "known are" : "nearest",
                           fmt::join(near.empty() ? ids : near, ", ")));
}

}  // namespace

Result<Hwdb> Hwdb::open(const std::string& folder) {
  Hwdb hwdb(folder);
  if (folder.empty()) return hwdb;
  if (!is_folder(folder)) {
    return error("E601", "no such folder", {folder, 0, 0, {}},
                 "a database folder has a folder devices/, links/, hosts/ or frameworks/");
  }
  hwdb.own_ = list_folder(folder);
  return hwdb;
}

Diagnostics Hwdb::own_faults() const {
  Diagnostics faults;
  if (built_in()) return faults;
  const auto say = [&](const std::string& name, std::string why) {
    faults.push_back(
        warning("W403", "is not used: " + std::move(why), {folder_ + "/" + name, 0, 0, {}}));
  };
  const auto tell = [&](const std::string& name, const auto& entry) {
    if (!entry) say(name, entry.error().front().message);
  };
  for (const std::string& name : own_) {
    const size_t slash = name.rfind('/');
    if (slash == name.npos || !name.ends_with(kExtension)) continue;
    const std::string prefix = name.substr(0, slash + 1);
    const std::string id = name.substr(slash + 1, name.size() - slash - 1 - kExtension.size());
    if (prefix == "devices/") tell(name, load<Device>(prefix, id, read_device));
    if (prefix == "links/") tell(name, load<Link>(prefix, id, read_link));
    if (prefix == "hosts/") tell(name, load<Host>(prefix, id, read_host));
    if (prefix == "frameworks/") tell(name, load<FrameworkProfile>(prefix, id, read_framework));
  }
  static const std::vector<std::string> kFolders = {"calibrations", "devices", "frameworks",
                                                    "hosts",        "links",   "workspaces"};
  for (const std::string& name : names_in(folder_)) {
    if (!is_folder(path_in(folder_, name)) || std::ranges::find(kFolders, name) != kFolders.end())
      continue;
    const std::string near = nearest(name, kFolders);
    say(name, near.empty() ? "no folder of the database is called so"
                           : fmt::format("is {} meant?", near));
  }
  return faults;
}

bool Hwdb::overridden(const std::string& name) const {
  return std::binary_search(own_.begin(), own_.end(), name);
}

std::string Hwdb::shown(const std::string& name) const {
  return overridden(name) ? folder_ + "/" + name : "built-in " + name;
}

std::vector<std::string> Hwdb::names(std::string_view prefix) const {
  std::vector<std::string> found = hwdb_files().names(prefix);
  for (const std::string& name : own_) {
    if (name.starts_with(prefix)) found.push_back(name);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<std::string> Hwdb::ids(std::string_view prefix) const {
  std::vector<std::string> found = names(prefix);
  for (std::string& name : found) {
    name = name.substr(prefix.size(), name.size() - prefix.size() - kExtension.size());
  }
  std::sort(found.begin(), found.end());  // "a-b.json" stands before "a.json"
  return found;
}

bool Hwdb::contains(std::string_view name) const {
  return overridden(std::string(name)) || hwdb_files().contains(name);
}

Result<std::string> Hwdb::read(std::string_view name) const {
  const std::string wanted(name);
  return overridden(wanted) ? read_text(folder_ + "/" + wanted) : hwdb_files().read(name);
}

template <class Entry, class Reader>
Result<Entry> Hwdb::load(std::string_view prefix, const std::string& id, Reader reader) const {
  const std::string name = fmt::format("{}{}{}", prefix, id, kExtension);
  const Result<std::string> text = read(name);
  if (!text) return tl::make_unexpected(text.error());
  Result<Entry> entry = reader(*text, shown(name), id);
  if (entry && overridden(name) && hwdb_files().contains(name)) {
    entry->warnings.push_back(
        note("N401",
             fmt::format("\"{}\" comes from {}, not from the built-in database", id, shown(name))));
  }
  return entry;
}

template <class Entry, class Reader>
Result<Entry> Hwdb::find(std::string_view prefix, std::string_view name, Reader reader,
                         std::string_view noun, std::string_view code) const {
  const std::string wanted = lower_case(name);
  const std::vector<std::string> all = ids(prefix);
  if (std::binary_search(all.begin(), all.end(), wanted)) {
    return load<Entry>(prefix, wanted, reader);
  }
  std::vector<Entry> claims;
  std::vector<std::string> words = all;
  for (const std::string& id : all) {
    Result<Entry> entry = load<Entry>(prefix, id, reader);
    if (!entry) continue;  // it is reported where it is asked for
    words.insert(words.end(), entry->aliases.begin(), entry->aliases.end());
    const auto& aliases = entry->aliases;
    if (std::find(aliases.begin(), aliases.end(), wanted) != aliases.end()) {
      claims.push_back(std::move(*entry));
    }
  }
  if (claims.size() == 1) return std::move(claims.front());
  const std::string quoted = shortened(name, kQuotedColumns);
  if (claims.size() > 1) {
    return error("E403", fmt::format("\"{}\" is an alias of both \"{}\" and \"{}\"", quoted,
                                     claims[0].id, claims[1].id));
  }
  constexpr size_t kFewEnough = 20;  // to be listed in a message
  std::vector<std::string> parts;
  std::copy_if(all.begin(), all.end(), std::back_inserter(parts),
               [&](const std::string& id) { return !wanted.empty() && names_part(id, wanted); });
  if (parts.size() > 1) {
    return error("E141", fmt::format("\"{}\" may be any of {}", quoted, fmt::join(parts, ", ")));
  }
  if (parts.empty()) parts = nearest_few(wanted, words);
  return error(std::string(code), fmt::format("unknown {} \"{}\"", noun, quoted), {},
               !parts.empty()             ? fmt::format("nearest: {}", fmt::join(parts, ", "))
               : all.size() <= kFewEnough ? fmt::format("known are {}", fmt::join(all, ", "))
                                          : "");
}

Result<Link> Hwdb::link(std::string_view name) const {
  return find<Link>("links/", name, read_link, "link", "E142");
}

Result<Host> Hwdb::host(std::string_view name) const {
  Result<Host> host = is_device_file(name) ? read_own_host(std::string(name))
                                           : find<Host>("hosts/", name, read_host, "host", "E144");
  if (!host || host->id == kUnknownHost) return host;
  Result<Host> unknown = load<Host>("hosts/", std::string(kUnknownHost), read_host);
  if (!unknown) return unknown;
  host->complete(*unknown);
  return host;
}

Result<std::vector<FrameworkProfile>> Hwdb::profiles(const std::string& wanted,
                                                     const std::string& family,
                                                     const std::optional<Version>& version) const {
  std::vector<std::string> ids = framework_ids();
  // Built-in profiles are called FRAMEWORK or FRAMEWORK-VERSION: the others need not be read to
  // look for an alias. A user's file may have any name.
  std::vector<std::string> named;
  std::ranges::copy_if(ids, std::back_inserter(named),
                       [&](const std::string& id) { return is_profile_of(id, family); });
  // Newest first, as their names are: the first that is not too new is the one.
  const bool newest_first = !named.empty() && own_.empty();
  if (newest_first) {
    ids = std::move(named);
    std::ranges::sort(ids, [&](const std::string& a, const std::string& b) {
      return profile_version(b, family) < profile_version(a, family);
    });
  }
  std::vector<FrameworkProfile> profiles;
  for (const std::string& id : ids) {
    Result<FrameworkProfile> profile = load<FrameworkProfile>("frameworks/", id, read_framework);
    if (!profile) {
      if (id == wanted) return tl::make_unexpected(profile.error());
      continue;  // it is reported where it is asked for
    }
    profiles.push_back(std::move(*profile));
    if (newest_first && !(version && *version < profiles.back().since)) break;
  }
  return profiles;
}

Result<FrameworkProfile> Hwdb::framework(std::string_view name) const {
  const std::string wanted = framework_name(name);
  const size_t dash = wanted.find_last_of('-');
  auto version =
      dash == wanted.npos ? std::nullopt : parse_version(std::string_view(wanted).substr(dash + 1));
  std::string family = version ? wanted.substr(0, dash) : wanted;
  auto read = TRY(profiles(wanted, family, version));
  const auto alias_of = [&](const std::string& word) {
    return std::ranges::find_if(read, [&](const FrameworkProfile& profile) {
      return std::ranges::find(profile.aliases, word) != profile.aliases.end();
    });
  };
  // "torch-7" as a whole before version 7 of "torch".
  auto owner = alias_of(wanted);
  if (owner != read.end()) {
    version.reset();
  } else {
    owner = alias_of(family);
  }
  if (owner != read.end()) family = owner->framework;
  FrameworkProfile* newest = nullptr;  // of those that are not too new
  FrameworkProfile* oldest = nullptr;
  for (FrameworkProfile& profile : read) {
    if (profile.framework != family) continue;
    if (version) {
      profile.ask(*version);
    } else {
      profile.asked = Version{.numbers = {std::numeric_limits<int>::max()}};
    }
    if (!oldest || profile.since < oldest->since) oldest = &profile;
    if (version && *version < profile.since) continue;
    if (!newest || newest->since < profile.since) newest = &profile;
  }
  if (newest) return std::move(*newest);
  if (oldest) {
    oldest->warnings.push_back(
        warning("W411", fmt::format("{} {} is older than every profile; {} is used", family,
                                    version->text(), oldest->id)));
    return std::move(*oldest);
  }
  return unknown_framework(name, family, read, framework_ids());
}

Result<Device> Hwdb::load_device(const std::string& id) const {
  return load<Device>("devices/", id, read_device);
}

}  // namespace plimsoll
