#include "hwdb/context.h"

#include <doctest/doctest.h>

#include "hwdb/hwdb.h"

using namespace plimsoll;

namespace {

constexpr auto kLazy = ModuleLoading::kLazy;
constexpr auto kEager = ModuleLoading::kEager;

Version version(const char* text) { return parse_version(text).value(); }

// Rows told apart by `plain`, as 1, 2, ...
ContextRow row(const char* architecture, std::optional<ModuleLoading> loading, int64_t plain) {
  ContextRow made;
  made.architecture = architecture;
  made.loading = loading;
  made.plain = Bytes{plain};
  return made;
}

// What the rows of `rows` answer on a card of an architecture, with CUDA 12.8, lazily by default.
struct Asking {
  std::vector<ContextRow> rows;

  ContextChoice operator()(const char* device, const char* architecture,
                           std::optional<ModuleLoading> asked = std::nullopt,
                           ModuleLoading usual = kLazy, const char* cuda = "12.8") const {
    return choose_context(rows, {.device = device,
                                 .architecture = architecture,
                                 .cuda = version(cuda),
                                 .asked = asked,
                                 .usual = usual});
  }
};

}  // namespace

TEST_CASE("context: the default's row, and the wider one that has it before a nearer without") {
  const Asking ask{{row("volta", std::nullopt, 1), row("volta", kLazy, 2), row("hopper", kLazy, 3),
                    row("hopper", kEager, 4), row("h100", kLazy, 5), row("any", kLazy, 6),
                    row("any", std::nullopt, 7)}};
  const ContextChoice volta = ask("v100", "volta");
  CHECK(volta.row->plain.value == 2);
  CHECK(volta.loading == kLazy);
  CHECK(volta.why == "modules are loaded lazily, the default with CUDA 12.8; measured on volta");
  CHECK(ask("h200", "hopper").row->plain.value == 3);
  CHECK(ask("h200", "hopper", std::nullopt, kEager, "12.1").row->plain.value == 4);
  CHECK(ask("h100", "hopper").row->plain.value == 5);
  CHECK(ask("p100", "pascal").row->plain.value == 6);
  const ContextChoice old = ask("v100", "volta", std::nullopt, kEager, "11.6");
  CHECK(old.row->plain.value == 1);
  CHECK(old.loading == kEager);
  CHECK(old.why == "modules are loaded eagerly, the default with CUDA 11.6; measured on volta");
}

TEST_CASE("context: what is asked for, a row that does not state it standing for eager") {
  const Asking ask{{row("volta", std::nullopt, 1), row("hopper", kLazy, 2),
                    row("hopper", kEager, 3), row("h100", kLazy, 4), row("any", kLazy, 5),
                    row("any", std::nullopt, 6)}};
  const ContextChoice volta = ask("v100", "volta", kEager);
  CHECK(volta.row->plain.value == 1);
  CHECK(volta.loading == kEager);
  CHECK(volta.why == "modules are loaded eagerly, as requested; measured on volta");
  CHECK(ask("v100", "volta", kLazy).row->plain.value == 5);
  CHECK(ask("h100", "hopper", kEager).row->plain.value == 3);
  CHECK(ask("h100", "hopper", kLazy).why ==
        "modules are loaded lazily, as requested; measured on h100");
  CHECK(ask("p100", "pascal", kEager).row->plain.value == 6);
  const Asking none{{row("volta", std::nullopt, 1), row("any", std::nullopt, 2)}};
  const ContextChoice other = none("v100", "volta", kLazy);
  CHECK(other.row->plain.value == 1);
  CHECK_FALSE(other.loading);
  CHECK(other.why ==
        "the context was not measured with modules loaded lazily, as requested; the measurement in "
        "use does not state the loading; measured on volta");
}

TEST_CASE("context: a row holds from one version of CUDA on and until another") {
  std::vector<ContextRow> rows = {row("volta", std::nullopt, 1), row("volta", std::nullopt, 2),
                                  row("any", std::nullopt, 3)};
  rows[0].cuda_since = version("10");
  rows[0].cuda_before = version("11.7");
  rows[1].cuda_since = version("12");
  const Asking ask{rows};
  const auto at = [&](const char* cuda) {
    return ask("v100", "volta", std::nullopt, kEager, cuda).row->plain.value;
  };
  CHECK(at("9.2") == 3);
  CHECK(at("10.0") == 1);
  CHECK(at("11.6") == 1);
  CHECK(at("11.7") == 3);
  CHECK(at("12") == 2);
}

TEST_CASE("context: lazy loading came with CUDA 11.7, PyTorch asks for it since 1.13") {
  CHECK_FALSE(can_load_lazily(version("11.6")));
  CHECK(can_load_lazily(version("11.7")));
  CHECK_FALSE(loads_lazily_by_default(version("12.1")));
  CHECK(loads_lazily_by_default(version("12.2")));
  const Hwdb hwdb = *Hwdb::open();
  const auto usual = [&](const char* framework, const char* cuda) {
    return hwdb.framework(framework)->usual_loading(version(cuda));
  };
  CHECK(usual("pytorch-1.12", "11.7") == kEager);
  CHECK(usual("pytorch-1.13", "11.7") == kLazy);
  CHECK(usual("pytorch-1.13", "11.6") == kEager);
  CHECK(usual("pytorch", "11.8") == kLazy);
  CHECK(usual("mxnet", "11.8") == kEager);
  CHECK(usual("mxnet", "12.2") == kLazy);
  CHECK(name(kLazy) == "lazy");
}

TEST_CASE("context: one law for all cards of a framework") {
  const Hwdb hwdb = *Hwdb::open();
  const auto mib = [&](const char* device, ModuleLoading loading, bool trains) {
    const Device card = hwdb.device(device).value();
    const FrameworkProfile profile = hwdb.framework("pytorch").value();
    const ContextRow& row = *choose_context(profile.context, {.device = card.id,
                                                              .architecture = card.architecture,
                                                              .cuda = version("12.8"),
                                                              .asked = loading})
                                 .row;
    CHECK(row.architecture == "any");
    const Bytes modules = trains ? row.with_cudnn : row.inference.value();
    return static_cast<double>(modules.value + card_bytes(row, card, trains)) / (1 << 20);
  };
  // Measured: H100, calibrate/measure/contexts.py; T4 elsewhere; the others' sources do not say how
  // they loaded.
  CHECK(mib("h100", kLazy, true) == doctest::Approx(771).epsilon(.01));
  CHECK(mib("h100", kLazy, false) == doctest::Approx(695).epsilon(.01));
  CHECK(mib("h100", kEager, true) == doctest::Approx(2105).epsilon(.01));
  CHECK(mib("t4", kLazy, false) == doctest::Approx(135).epsilon(.01));
  CHECK(mib("v100", kEager, true) == doctest::Approx(1279).epsilon(.12));
  CHECK(mib("rtx-3070", kEager, true) == doctest::Approx(1203).epsilon(.12));
  CHECK(mib("rtx-3090", kEager, true) == doctest::Approx(1327).epsilon(.12));
  CHECK(mib("a100", kEager, true) == doctest::Approx(1721).epsilon(.12));
}
