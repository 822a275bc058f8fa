// Which device a name means: the part of Hwdb that knows what people call GPUs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/base/byte_source.h"
#include "graph/base/escape.h"
#include "graph/base/text.h"
#include "graph/base/try.h"
#include "hwdb/device_names.h"
#include "hwdb/hwdb.h"
#include "hwdb/lookup.h"
#include "hwdb/mig.h"
#include "hwdb/unsupported.h"

namespace plimsoll {
namespace {

Result<Device> read_own_file(const std::string& path) {
  const Result<std::string> text = read_text(path);
  if (!text) return tl::make_unexpected(text.error());
  Result<Device> device = read_device(*text, path, {});
  if (device) device->origin = "figures from " + shortened(path, kQuotedColumns);
  return device;
}

std::string file_of(std::string_view id) { return fmt::format("devices/{}.json", id); }

void add_unique(std::vector<std::string>& ids, std::string_view id) {
  if (std::ranges::find(ids, id) == ids.end()) ids.emplace_back(id);
}

std::string other_ids(const std::vector<std::string>& ids, const std::string& taken) {
  std::vector<std::string> others;
  std::ranges::copy_if(ids, std::back_inserter(others),
                       [&](const std::string& id) { return id != taken; });
  return fmt::format("{}", fmt::join(others, ", "));
}

tl::unexpected<Diagnostics> may_be_any(std::string_view name, const std::vector<std::string>& ids) {
  return error("E141", fmt::format("\"{}\" may be any of {}", shortened(name, kQuotedColumns),
                                   fmt::join(ids, ", ")));
}

}  // namespace

std::vector<Hwdb::NamedDevice> Hwdb::device_names() const {
  std::vector<NamedDevice> names;
  for (const DeviceName& name : built_in_device_names()) {
    if (!overridden(file_of(name.id)))
      names.push_back({std::string(name.key), std::string(name.id), name.own});
  }
  for (const std::string& id : device_ids()) {
    if (!overridden(file_of(id))) continue;
    names.push_back({device_key(id), id, true});
    const Result<Device> device = load_device(id);
    if (!device) continue;  // it is reported where it is asked for
    for (const std::string& name : device->aliases) names.push_back({device_key(name), id, true});
    for (const std::string& name : device->names) names.push_back({device_key(name), id, false});
  }
  return names;
}

std::vector<std::string> Hwdb::devices_called(std::string_view name) const {
  const std::string key = device_key(name);
  std::vector<std::string> ids;
  for (const NamedDevice& known : device_names()) {
    if (!key.empty() && known.key == key) add_unique(ids, known.id);
  }
  std::ranges::sort(ids);
  return ids;
}

void Hwdb::bring(std::string name, Device device) {
  brought_.insert_or_assign(std::move(name), std::move(device));
}

Result<Device> Hwdb::device(std::string_view name) const {
  if (const auto brought = brought_.find(name); brought != brought_.end()) return brought->second;
  if (is_host_device(name)) return host_device();
  if (is_device_file(name)) return read_own_file(std::string(name));
  const auto [card, part] = split_mig(name);
  Result<Device> device = whole_device(card);
  if (!device || card.size() == name.size()) return device;
  return mig_slice(*device, part);
}

// Of cards that go by one name, those with so much memory.
std::vector<std::string> Hwdb::of_size(const std::vector<std::string>& ids,
                                       int64_t gibibytes) const {
  constexpr double kNear = .1;
  std::vector<std::string> found;
  for (const std::string& id : ids) {
    const Result<Device> device = load_device(id);
    const double size = device ? static_cast<double>(device->memory.value) / (1 << 30) : 0;
    const auto wanted = static_cast<double>(gibibytes);
    if (size > (1 - kNear) * wanted && size < (1 + kNear) * wanted) found.push_back(id);
  }
  return found;
}

// As people call a card by its line, and by its memory, where nobody is called just so.
std::vector<std::string> Hwdb::loosely_called(std::string_view name) const {
  if (auto ids = devices_called(without_line(name)); !ids.empty()) return ids;
  const SizedName sized = split_size(name);
  if (sized.gibibytes == 0) return {};
  std::vector<std::string> ids = devices_called(sized.name);
  if (ids.empty()) ids = devices_called(without_line(sized.name));
  return of_size(ids, sized.gibibytes);
}

Result<Device> Hwdb::whole_device(std::string_view name) const {
  if (const std::string id = lower_case(name); contains(file_of(id))) return load_device(id);
  const std::string key = device_key(name);
  const std::vector<NamedDevice> names = device_names();
  std::vector<std::string> own, called;  // ids with the name as their own, and with it at all
  for (const NamedDevice& known : names) {
    if (key.empty() || known.key != key) continue;
    if (known.own) add_unique(own, known.id);
    add_unique(called, known.id);
  }
  if (called.empty()) called = loosely_called(name);
  const std::string quoted = shortened(name, kQuotedColumns);
  if (own.size() > 1) {
    return error("E403", fmt::format("\"{}\" is an alias of both \"{}\" and \"{}\"", quoted, own[0],
                                     own[1]));
  }
  if (own.empty() && called.size() > 1) return may_be_any(name, called);
  if (!called.empty()) {
    const std::string& id = own.empty() ? called.front() : own.front();
    Result<Device> device = load_device(id);
    if (device && called.size() > 1) {
      device->warnings.push_back(warning("W405", fmt::format("\"{1}\" may also be {0}; using {2}",
                                                             other_ids(called, id), quoted, id)));
    }
    return device;
  }
  return unknown_device(name, names);
}

tl::unexpected<Diagnostics> Hwdb::unknown_device(std::string_view name,
                                                 const std::vector<NamedDevice>& names) const {
  const auto kind = TRY(find_unsupported(*this, name));
  const std::string quoted = shortened(name, kQuotedColumns);
  if (kind) {
    return error("E145", fmt::format("\"{}\": {} are not known to Plimsoll: {}", quoted, kind->what,
                                     kind->why));
  }
  const std::string wanted = lower_case(name);
  std::vector<std::string> near;
  for (const std::string& id : device_ids()) {
    if (!wanted.empty() && names_part(id, wanted)) near.push_back(id);
  }
  if (near.size() > 1) return may_be_any(name, near);
  if (near.empty()) {
    std::vector<std::string> keys;
    for (const NamedDevice& known : names) keys.push_back(known.key);
    for (const std::string& key : nearest_few(device_key(name), keys))
      add_unique(near, std::ranges::find(names, key, &NamedDevice::key)->id);
  }
  return error(
      "E140", fmt::format("unknown GPU \"{}\"", quoted), {},
      fmt::format("{}{}'plimsoll gpus' lists {}; or name a device file ('plimsoll schema device')",
                  near.empty() ? "" : fmt::format("nearest: {}", fmt::join(near, ", ")),
                  near.empty() ? "" : "; ", device_ids().size()));
}

std::vector<Device> Hwdb::devices(Diagnostics& warnings) const {
  std::vector<Device> found;
  for (const std::string& id : device_ids()) {
    Result<Device> device = load_device(id);
    if (device) {
      found.push_back(std::move(*device));
      continue;
    }
    const Diagnostic& fault = device.error().front();
    warnings.push_back(warning("W403", fmt::format("left out: {} [{}]", fault.message, fault.code),
                               fault.place, fault.help));
  }
  return found;
}

}  // namespace plimsoll
