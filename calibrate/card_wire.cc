#include "calibrate/card_wire.h"

#include <fmt/format.h>

#include "calibrate/kernel_record.h"

namespace plimsoll::calibrate {
namespace {

JsonWriter begun(std::string_view call) {
  JsonWriter out;
  out.begin_object().key("call").string(call);
  return out;
}

JsonWriter begun(std::string_view call, const KernelAt& kernel) {
  JsonWriter out = begun(call);
  out.key("kernel").begin_object();
  write_kernel(out, kernel);
  out.end_object();
  return out;
}

std::string ended(JsonWriter& out) {
  out.end_object();
  return out.take();
}

void write_error(JsonWriter& out, const Diagnostic& d) {
  out.key("error").begin_object().key("code").string(d.code);
  out.key("message").string(d.message);
  if (!d.help.empty()) out.key("help").string(d.help);
  out.end_object();
}

// Nothing where the line has no error.
std::optional<Diagnostics> read_error(JsonObject& line) {
  auto said = line.optional_object("error");
  if (!said) return std::nullopt;
  return error(said->required_string("code"), said->required_string("message"), {},
               said->optional_string("help").value_or(""))
      .value();
}

template <class T, class Write>
std::string with_answer(JsonWriter out, const char* key, const Result<std::vector<T>>& answer,
                        Write write) {
  if (!answer) {
    write_error(out, answer.error().front());
    return ended(out);
  }
  out.key(key).objects(*answer, [&](const T& each) { write(out, each); });
  return ended(out);
}

template <class Read>
auto read_answer(JsonObject& line, const char* key, Read read)
    -> Result<std::vector<decltype(read(line))>> {
  if (auto said = read_error(line)) return tl::make_unexpected(std::move(*said));
  std::vector<decltype(read(line))> all;
  for (const JsonValue& value : line.required_list(key)) {
    JsonObject each(value, line.file(), line.faults());
    all.push_back(read(each));
    each.finish();
  }
  if (has_error(line.faults())) return tl::make_unexpected(line.faults());
  return all;
}

void write_sample(JsonWriter& out, const Sample& sample) {
  out.key("ns").real(sample.seconds * kNanoseconds);
  write_state(out, sample.state);
}

Sample read_sample(JsonObject& object) {
  const double ns = object.required_real("ns", {.low = 1e-3, .high = 1e15});
  return {ns / kNanoseconds, read_state(object)};
}

void write_figure(JsonWriter& out, const Figure& figure) {
  out.key("quantity").string(figure.quantity).key("unit").string(figure.unit);
  out.key("value").real(figure.value);
}

Figure read_figure(JsonObject& object) {
  return {object.required_string("quantity"), object.required_string("unit"),
          object.required_real("value", kNotNegative)};
}

}  // namespace

std::string offers_question(const KernelAt& kernel) {
  JsonWriter out = begun("offers", kernel);
  return ended(out);
}

std::string time_question(const KernelAt& kernel, size_t offer) {
  JsonWriter out = begun("time", kernel);
  out.key("offer").integer(static_cast<int64_t>(offer));
  return ended(out);
}

std::string figures_question() {
  JsonWriter out = begun("figures");
  return ended(out);
}

std::string facts_line(const CardFacts& facts) {
  JsonWriter out = begun("facts");
  out.key("facts").begin_object();
  out.key("name").string(facts.name).key("driver").string(facts.driver);
  if (!facts.source.empty()) out.key("source").string(facts.source);
  out.key("compute_capability").begin_array();
  out.integer(facts.compute_capability.major).integer(facts.compute_capability.minor).end_array();
  out.key("memory_bytes").integer(facts.memory_bytes);
  out.key("free_bytes").integer(facts.free_bytes);
  out.key("libraries").objects(facts.libraries, [&](const CardLibrary& library) {
    out.key("name").string(library.name);
    out.key("version").string(library.version).key("path").string(library.path);
  });
  out.end_object();
  return ended(out);
}

std::string facts_line(const Diagnostic& why) {
  JsonWriter out = begun("facts");
  write_error(out, why);
  return ended(out);
}

std::string offers_line(const KernelAt& kernel, const Result<std::vector<Offer>>& answer) {
  return with_answer(begun("offers", kernel), "offers", answer, write_offer);
}

std::string time_line(const KernelAt& kernel, size_t offer,
                      const Result<std::vector<Sample>>& answer) {
  JsonWriter out = begun("time", kernel);
  out.key("offer").integer(static_cast<int64_t>(offer));
  return with_answer(std::move(out), "samples", answer, write_sample);
}

std::string figures_line(const Result<std::vector<Figure>>& answer) {
  return with_answer(begun("figures"), "figures", answer, write_figure);
}

std::string CardCall::key() const {
  return kernel ? fmt::format("{} {} {}", call, offer, key_of(*kernel)) : call;
}

CardCall read_call(JsonObject& line) {
  CardCall call;
  call.call = line.required_choice("call", {"facts", "offers", "time", "figures"});
  if (call.call == "offers" || call.call == "time") {
    JsonObject kernel = line.required_object("kernel");
    call.kernel = read_kernel(kernel);
  }
  if (call.call == "time")
    call.offer = static_cast<size_t>(line.required_integer("offer", {.low = 0, .high = 1 << 16}));
  return call;
}

Result<CardFacts> read_facts(JsonObject& line) {
  if (auto said = read_error(line)) return tl::make_unexpected(std::move(*said));
  CardFacts facts;
  JsonObject object = line.required_object("facts");
  facts.name = object.required_string("name");
  facts.driver = object.required_string("driver");
  facts.source = object.optional_string("source").value_or("");
  const auto capability = object.required_integers("compute_capability", {.low = 0, .high = 99});
  if (capability.size() == 2) {
    facts.compute_capability = {static_cast<int>(capability[0]), static_cast<int>(capability[1])};
  } else {
    object.fail("E312", "\"compute_capability\" has two numbers: [9, 0]");
  }
  facts.memory_bytes = object.required_integer("memory_bytes", {.low = 1});
  facts.free_bytes = object.required_integer("free_bytes", {.low = 0});
  for (const JsonValue& value : object.required_list("libraries")) {
    JsonObject library(value, line.file(), line.faults());
    facts.libraries.push_back({library.required_string("name"), library.required_string("version"),
                               library.required_string("path")});
  }
  object.finish();
  if (has_error(line.faults())) return tl::make_unexpected(line.faults());
  return facts;
}

Result<std::vector<Offer>> read_offers(JsonObject& line) {
  return read_answer(line, "offers", read_offer);
}
Result<std::vector<Sample>> read_samples(JsonObject& line) {
  return read_answer(line, "samples", read_sample);
}
Result<std::vector<Figure>> read_figures(JsonObject& line) {
  return read_answer(line, "figures", read_figure);
}

void write_state(JsonWriter& out, const CardState& state) {
  const auto write = [&](const char* key, const std::optional<double>& value) {
    if (value) out.key(key).real(*value);
  };
  write("sm_clock_hz", state.sm_clock_hz);
  write("memory_clock_hz", state.memory_clock_hz);
  write("temperature_c", state.temperature_c);
  write("power_watts", state.power_watts);
  if (state.throttled.empty()) return;
  out.key("throttled").strings(state.throttled);
}

CardState read_state(JsonObject& object) {
  return {.sm_clock_hz = object.optional_real("sm_clock_hz", kNotNegative),
          .memory_clock_hz = object.optional_real("memory_clock_hz", kNotNegative),
          .temperature_c = object.optional_real("temperature_c"),
          .power_watts = object.optional_real("power_watts", kNotNegative),
          .throttled = object.optional_strings("throttled")};
}

void write_offer(JsonWriter& out, const Offer& offer) {
  out.key("algorithm").string(offer.algorithm);
  if (offer.plan) {
    write_plan(out, *offer.plan);
  } else if (offer.workspace_bytes) {
    out.key("workspace_bytes").integer(*offer.workspace_bytes);
  }
}

Offer read_offer(JsonObject& object) {
  Offer offer;
  offer.algorithm = object.required_string("algorithm");
  if (object.has("engine")) {
    offer.plan = read_plan(object);
    offer.workspace_bytes = offer.plan->bytes;
  } else {
    offer.workspace_bytes = object.optional_integer("workspace_bytes", {.low = 0});
  }
  return offer;
}

}  // namespace plimsoll::calibrate
