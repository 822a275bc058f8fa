#include "hwdb/hwdb.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "hwdb/device_names.h"
#include "tests/support/scratch.h"

using namespace plimsoll;

namespace {

// A user's folder with one device file.
struct Folder {
  test::Scratch scratch;
  explicit Folder(const std::string& name, const std::string& text) {
    std::filesystem::create_directory(scratch.path("devices"));
    scratch.write("devices/" + name, text);
  }
  Hwdb open() const { return Hwdb::open(scratch.path("")).value(); }
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

std::string p4000() { return Hwdb::open()->read("devices/quadro-p4000.json").value(); }

}  // namespace

TEST_CASE("hwdb: the contract's ids and aliases") {
  const Hwdb hwdb = *Hwdb::open();
  const std::map<std::string, std::string> aliases = {
      {"t4", "tesla-t4"},
      {"p100", "tesla-p100-pcie-16gb"},
      {"p4000", "quadro-p4000"},
      {"v100", "tesla-v100-sxm2-16gb"},
      {"tesla-v100-16gb-unspecified", "tesla-v100-sxm2-16gb"},
      {"tesla-v100-sxm2", "tesla-v100-sxm2-16gb"},
      {"a100-40gb", "a100-sxm-40gb"},
      {"a100", "a100-sxm-40gb"},
      {"a100-sxm4-40gb", "a100-sxm-40gb"},
      {"a100-40gb-sxm", "a100-sxm-40gb"},
      {"a100-80gb-sxm", "a100-sxm-80gb"},
      {"a100-40gb-pcie", "a100-pcie-40gb"},
      {"h100", "h100-sxm-80gb"},
      {"h100-80gb", "h100-sxm-80gb"},
      {"h100-80gb-sxm", "h100-sxm-80gb"},
      {"titan-x-unspecified", "gtx-titan-x"},
      {"RTX-4090", "rtx-4090"},
      {"a800", "a800-sxm-80gb"},
      {"RTX 4070 Laptop", "rtx-4070-laptop"},
      {"NVIDIA GeForce RTX 4090 Laptop GPU", "rtx-4090-laptop"},
      {"4090-mobile", "rtx-4090-laptop"},
      {"rtx pro 6000", "rtx-pro-6000"},
      {"p40", "tesla-p40"},
      {"GB10", "gb10"},
      {"Orin", "jetson-agx-orin-64gb"},
  };
  for (const auto& [given, id] : aliases) {
    const std::string alias = given;
    CAPTURE(alias);
    const auto device = hwdb.device(alias);
    REQUIRE(device);
    CHECK(device->id == id);
  }
}

TEST_CASE("hwdb: a driver's name of several cards is taken for the one that it is an alias of") {
  const Hwdb hwdb = *Hwdb::open();
  // Laptops with Turing chips have drivers' names of desktops; every Orin module has one name.
  for (const char* name : {"NVIDIA GeForce RTX 2060", "Orin"}) {
    CAPTURE(name);
    const auto device = hwdb.device(name);
    REQUIRE(device);
    REQUIRE(device->warnings.size() == 1);
    CHECK(device->warnings[0].code == "W405");
  }
  CHECK(hwdb.device("rtx-2060")->warnings.empty());
  // Sold with 8 and with 16 GB, and none is the usual one.
  const auto either = hwdb.device("NVIDIA GeForce RTX 3080 Laptop GPU");
  REQUIRE_FALSE(either);
  CHECK(either.error()[0].code == "E141");
}

TEST_CASE("hwdb: no name is claimed twice") {
  const Hwdb hwdb = *Hwdb::open();
  std::map<std::string, std::string> owner;
  Diagnostics warnings;
  for (const Device& device : hwdb.devices(warnings)) {
    std::vector<std::string> names = device.aliases;
    names.push_back(device.id);
    for (const std::string& name : names) {
      CAPTURE(name);
      CHECK(owner.emplace(device_key(name), device.id).first->second == device.id);
    }
  }
  CHECK(warnings.empty());
}

// Rows C1 and C2 of the catalogue of bad inputs.
TEST_CASE("hwdb: unknown and ambiguous names") {
  const Hwdb hwdb = *Hwdb::open();
  const auto unknown = hwdb.device("rtx4900");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error()[0].code == "E140");
  CHECK(unknown.error()[0].message == "unknown GPU \"rtx4900\"");
  CHECK(unknown.error()[0].help.find("rtx-4090") != std::string::npos);
  CHECK(unknown.error()[0].help.find("'plimsoll gpus' lists ") != std::string::npos);
  CHECK(exit_status(unknown.error()) == 2);
  const auto ambiguous = hwdb.device("80gb");
  REQUIRE_FALSE(ambiguous);
  CHECK(ambiguous.error()[0].code == "E141");
  CHECK(ambiguous.error()[0].message ==
        "\"80gb\" may be any of a100-pcie-80gb, a100-sxm-80gb, a800-pcie-80gb, a800-sxm-80gb, "
        "h100-pcie-80gb, h100-sxm-80gb, h800-pcie-80gb, h800-sxm-80gb");
  CHECK(exit_status(ambiguous.error()) == 2);
  for (const char* name : {"", "-", "..", "unit.jso", "\x1b[2J"}) {
    CAPTURE(name);
    const auto refused = hwdb.device(name);
    REQUIRE_FALSE(refused);
    CHECK(refused.error()[0].code == "E140");
  }
  CHECK_FALSE(hwdb.device(std::string(1'000'000, 'x')));
}

// Row C3.
TEST_CASE("hwdb: a folder adds and overrides, and says so") {
  const Folder own("quadro-p4000.json", replaced(p4000(), "8119 MiB", "7000 MiB"));
  const auto device = own.open().device("quadro-p4000");
  REQUIRE(device);
  CHECK(device->memory_reported.value == int64_t{7000} << 20);
  REQUIRE(device->warnings.size() == 1);
  CHECK(device->warnings[0].code == "N401");
  CHECK(own.open().device("rtx-4090"));

  const Folder added("my-card.json",
                     replaced(replaced(p4000(), "\"id\": \"quadro-p4000\"", "\"id\": \"my-card\""),
                              "[\"p4000\"]", "[]"));
  CHECK(added.open().device("my-card")->warnings.empty());
  CHECK(added.open().device_ids().size() == Hwdb().device_ids().size() + 1);
  CHECK(added.open().device("p4000")->id == "quadro-p4000");
}

// Rows C7, C8.
TEST_CASE("hwdb: a bad entry hurts only who asks for it; a name claimed twice is refused") {
  const Folder bad("bad-card.json", "{\"schema\": 1}");
  Diagnostics warnings;
  CHECK(bad.open().devices(warnings).size() == Hwdb().device_ids().size());
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].code == "W403");
  CHECK(exit_status(warnings) == 0);
  CHECK(bad.open().device("p4000"));
  const auto asked = bad.open().device("bad-card");
  REQUIRE_FALSE(asked);
  CHECK(exit_status(asked.error()) == 3);

  const Folder twice("my-card.json",
                     replaced(p4000(), "\"id\": \"quadro-p4000\"", "\"id\": \"my-card\""));
  const auto claimed = twice.open().device("p4000");
  REQUIRE_FALSE(claimed);
  CHECK(claimed.error()[0].code == "E403");
}

TEST_CASE("hwdb: a path is a device file, of any name and with any id") {
  const test::Scratch scratch;
  const std::string own = scratch.write("a card.json", replaced(p4000(), "8119 MiB", "7000 MiB"));
  const Hwdb hwdb;
  const auto device = hwdb.device(own);
  REQUIRE(device);
  CHECK(device->id == "quadro-p4000");
  CHECK(device->memory_reported.value == int64_t{7000} << 20);
  CHECK(device->origin.find("a card.json") != std::string::npos);
  CHECK(device->warnings.empty());
  const auto code = [&](const std::string& path) { return hwdb.device(path).error().front().code; };
  CHECK(code(scratch.path("none.json")) == "E601");
  CHECK(code(scratch.path("")) == "E602");
  CHECK(code(scratch.write("empty.json", "")) == "E331");
  CHECK(code(scratch.write("other.json", "{\"schema\": \"plimsoll.link\", \"version\": 1}")) ==
        "E330");
  const auto misspelt = hwdb.device(
      scratch.write("misspelt.json", replaced(p4000(), "\"base_clock\"", "\"base_clok\"")));
  REQUIRE_FALSE(misspelt);
  CHECK(misspelt.error()[0].place.file.ends_with("misspelt.json"));
  const auto unknown = std::ranges::find(misspelt.error(), "E304", &Diagnostic::code);
  REQUIRE(unknown != misspelt.error().end());
  CHECK(unknown->place.line > 1);
}

TEST_CASE("hwdb: a device that a caller brings is found by the name it is brought under") {
  Hwdb hwdb;
  CHECK_FALSE(hwdb.device("local"));
  hwdb.bring("local", hwdb.device("l4").value());
  CHECK(hwdb.device("local")->id == "l4");
  CHECK(Hwdb(hwdb).device("local")->id == "l4");
}

TEST_CASE("hwdb: a folder that is not there") {
  const auto missing = Hwdb::open("/no/such/folder");
  REQUIRE_FALSE(missing);
  CHECK(missing.error()[0].code == "E601");
}

TEST_CASE("hwdb: frameworks by name and version") {
  const Hwdb hwdb = *Hwdb::open();
  const std::pair<const char*, const char*> names[] = {
      {"pytorch", "pytorch-2"},
      {"pytorch-2", "pytorch-2"},
      {"pytorch-2.7.1+cu128", "pytorch-2"},
      {"pytorch-1.13", "pytorch-1.13"},
      {"pytorch-1.13.1", "pytorch-1.13"},
      {"pytorch-1.10", "pytorch-1.13"},
      {"pytorch-1.4", "pytorch-1.4"},
      {"pytorch-0.3.0", "pytorch-1.4"},
      {"torch-1.13.1", "pytorch-1.13"},
      {"tensorflow", "tensorflow-2.2"},
      {"tensorflow-1.15", "tensorflow-1"},
      {"tf-2.2.0", "tensorflow-2.2"},
      {"PyTorch-1.4.0", "pytorch-1.4"},
      {"torch7", "torch7"},
      {"mxnet-1.2.0rc1", "mxnet"},
      {"cntk", "cntk"},
      {"caffe", "caffe"},
      {"theano", "theano"},
      {"ideal", "ideal"},
      {"mxnet", "mxnet"},
  };
  for (const auto& [given, id] : names) {
    const std::string name = given;
    CAPTURE(name);
    const auto profile = hwdb.framework(name);
    REQUIRE(profile);
    CHECK(profile->id == id);
    CHECK(profile->warnings.empty());
  }
  const auto unknown = hwdb.framework("pytroch");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error()[0].code == "E143");
  CHECK(unknown.error()[0].help == "nearest: pytorch");
}

TEST_CASE("hwdb: every link, host and framework loads, each figure with a source") {
  const Hwdb hwdb = *Hwdb::open();
  const auto check = [](const auto& entry) {
    REQUIRE(entry);
    CHECK(entry->warnings.empty());
    CHECK_FALSE(entry->figures.empty());
    for (const FigureNote& figure : entry->figures) {
      CAPTURE(figure.name);
      CHECK_FALSE(figure.value.empty());
      CHECK_FALSE(figure.source.empty());
    }
  };
  for (const std::string& id : hwdb.link_ids()) check(hwdb.link(id));
  for (const std::string& id : hwdb.host_ids()) check(hwdb.host(id));
  for (const std::string& id : hwdb.framework_ids()) check(hwdb.framework(id));
  CHECK(hwdb.link("pcie-3").value().id == "pcie-3-x16");
  CHECK(hwdb.link("pcie-9").error()[0].code == "E142");
  CHECK(hwdb.host("laptop").error()[0].code == "E144");
}

TEST_CASE("hwdb: a framework's alias with a number is no version") {
  CHECK(Hwdb().framework("torch-7")->id == "torch7");
  CHECK(Hwdb().framework("torch-1.13")->id == "pytorch-1.13");
}

TEST_CASE("hwdb: what is broken in a user's folder is told, whoever asks for it") {
  const Folder folder("mine.json", "{");
  std::filesystem::create_directory(folder.scratch.path("framworks"));
  const Diagnostics faults = folder.open().own_faults();
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].code == "W403");
  CHECK(faults[0].place.file.ends_with("devices/mine.json"));
  CHECK(faults[1].message.find("is frameworks meant?") != std::string::npos);
  CHECK(Hwdb().own_faults().empty());
}
