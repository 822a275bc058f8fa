// Hwdb: the database of devices, links, hosts and frameworks. It travels in the binary; a folder of
// the user's (`--hwdb DIR`, with devices/, links/, hosts/, frameworks/ and calibrations/ as here)
// adds to it and overrides it file by file.
//
//   const Result<Hwdb> hwdb = Hwdb::open();
//   const Result<Device> card = hwdb->device("p4000");
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/base/embedded.h"
#include "hwdb/device.h"
#include "hwdb/framework.h"
#include "hwdb/host.h"
#include "hwdb/link.h"

namespace plimsoll {

class Hwdb {
 public:
  // `folder` empty: the built-in files alone. E601 where there is no such folder.
  static Result<Hwdb> open(const std::string& folder = {});

  // By id or alias. E140 for an unknown GPU, with the nearest ids; E141 where a part of an id names
  // several; E403 where two files claim the name; a file's own faults (E3xx, E4xx). `warnings` of
  // the result says which file won where the folder overrides a built-in one.
  // Cost: one file; an alias reads them all (some milliseconds).
  Result<Device> device(std::string_view name) const;
  Result<Link> link(std::string_view name) const;  // E142 unknown
  Result<Host> host(std::string_view name) const;  // E144 unknown
  // "pytorch-1.13.1", "tensorflow", "pytorch-2": NAME[-VERSION], the newest profile that is not
  // newer than the version, the newest of all without one. E143 for an unknown framework. A version
  // older than all profiles takes the oldest, W411.
  Result<FrameworkProfile> framework(std::string_view name) const;

  // Canonical ids, sorted.
  std::vector<std::string> device_ids() const { return ids("devices/"); }
  std::vector<std::string> link_ids() const { return ids("links/"); }
  std::vector<std::string> host_ids() const { return ids("hosts/"); }
  std::vector<std::string> framework_ids() const { return ids("frameworks/"); }

  // Every device that can be read; what could not is a W403 in `warnings`.
  std::vector<Device> devices(Diagnostics& warnings) const;

  // A file by its name in the database, "calibrations/sm_61.json": the folder's, else the built-in.
  // E901 where there is none.
  Result<std::string> read(std::string_view name) const;
  // Names of all files that start with a prefix, sorted.
  std::vector<std::string> names(std::string_view prefix) const;

 private:
  explicit Hwdb(std::string folder) : folder_(std::move(folder)) {}
  std::vector<std::string> ids(std::string_view prefix) const;
  bool overridden(const std::string& name) const;
  // The path a message should show.
  std::string shown(const std::string& name) const;
  template <class Entry, class Reader>
  Result<Entry> load(std::string_view prefix, const std::string& id, Reader reader) const;
  template <class Entry, class Reader>
  Result<Entry> find(std::string_view prefix, std::string_view name, Reader reader,
                     std::string_view noun, std::string_view code) const;

  std::string folder_;
  std::vector<std::string> own_;  // names of the folder's files, sorted
};

}  // namespace plimsoll
