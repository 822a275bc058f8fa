#include "calibrate/card_wire.h"

#include <fmt/format.h>

#include "calibrate/kernel_record.h"
#include "graph/json/json_fields.h"
#include "graph/json/read_fields.h"

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

void describe_error(Fields& f, Diagnostic& d) {
  f.object("error", [&] {
    f("code", d.code);
    f("message", d.message);
    f("help", d.help, {.absent_where = d.help.empty()});
  });
}

// Nothing where the line has no error.
std::optional<Diagnostics> read_error(JsonObject& line) {
  if (!line.has("error")) return std::nullopt;
  Diagnostic read;
  ReadFields fields(line);
  describe_error(fields, read);
  return Diagnostics{read};
}

template <class T>
std::string with_answer(JsonWriter out, const char* key, const Result<std::vector<T>>& answer) {
  JsonFields fields(out);
  if (answer) {
    fields(key, unchanged(*answer));
  } else {
    describe_error(fields, unchanged(answer.error().front()));
  }
  return ended(out);
}

template <class T>
Result<T> read_answer(JsonObject& line, const char* key) {
  if (auto refusal = read_error(line)) return tl::make_unexpected(std::move(*refusal));
  T answer;
  ReadFields fields(line);
  fields(key, answer);
  if (has_error(line.faults())) return tl::make_unexpected(line.faults());
  return answer;
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
  JsonFields fields(out);
  fields("facts", unchanged(facts));
  return ended(out);
}

std::string facts_line(const Diagnostic& why) {
  JsonWriter out = begun("facts");
  JsonFields fields(out);
  describe_error(fields, unchanged(why));
  return ended(out);
}

std::string offers_line(const KernelAt& kernel, const Result<std::vector<Offer>>& answer) {
  return with_answer(begun("offers", kernel), "offers", answer);
}

std::string time_line(const KernelAt& kernel, size_t offer,
                      const Result<std::vector<Sample>>& answer) {
  JsonWriter out = begun("time", kernel);
  out.key("offer").integer(static_cast<int64_t>(offer));
  return with_answer(std::move(out), "samples", answer);
}

std::string figures_line(const Result<std::vector<Figure>>& answer) {
  return with_answer(begun("figures"), "figures", answer);
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

Result<CardFacts> read_facts(JsonObject& line) { return read_answer<CardFacts>(line, "facts"); }
Result<std::vector<Offer>> read_offers(JsonObject& line) {
  return read_answer<std::vector<Offer>>(line, "offers");
}
Result<std::vector<Sample>> read_samples(JsonObject& line) {
  return read_answer<std::vector<Sample>>(line, "samples");
}
Result<std::vector<Figure>> read_figures(JsonObject& line) {
  return read_answer<std::vector<Figure>>(line, "figures");
}

}  // namespace plimsoll::calibrate
