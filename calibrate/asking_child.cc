#include "calibrate/asking_child.h"

#include <fmt/format.h>

#include "graph/base/try.h"
#include "graph/json/json_fields.h"
#include "graph/json/read_fields.h"
#include "graph/json/reader.h"

namespace plimsoll {
namespace {

std::string greeting(const Result<Cudnn>& cudnn) {
  JsonWriter out;
  out.begin_object();
  if (!cudnn) {
    const Diagnostic& d = cudnn.error().front();
    out.key("code").string(d.code).key("message").string(d.message).key("help").string(d.help);
  } else {
    out.key("version").string(cudnn->version());
    out.key("libraries").objects(cudnn->libraries(), [&](const LoadedLibrary& library) {
      out.key("name").string(library.name);
      out.key("version").string(library.version);
      out.key("path").string(library.path);
    });
  }
  out.end_object();
  return out.take();
}

std::string said(const Cudnn::Listed& listed) {
  JsonWriter out;
  out.begin_object();
  out.key("mode").string(listed.mode);
  if (!listed.error.empty()) out.key("error").string(listed.error);
  JsonFields fields(out);
  fields("plans", unchanged(listed.plans));
  out.end_object();
  return out.take();
}

// It answers a question a line until nobody asks any more.
void answer_questions(LineLink& link, const Device& device) {
  const Result<Cudnn> cudnn = Cudnn::open(device);
  if (!link.send(greeting(cudnn)) || !cudnn) return;
  while (const auto line = link.receive()) {
    const auto value = read_json(*line, "question");
    if (!value) return;
    Diagnostics faults;
    JsonObject object(*value, "question", faults, true);
    const ConvQuestion question = read_conv_question(object, DType::kFloat32);
    if (has_error(faults) || !link.send(said(cudnn->ask(question)))) return;
  }
}

}  // namespace

Result<AskingChild> AskingChild::start(const Device& device, std::chrono::milliseconds limit) {
  auto child = TRY(LineChild::start([&](LineLink& link) { answer_questions(link, device); }));
  AskingChild asking(std::move(child));
  asking.limit_ = limit;
  asking.device_ = fmt::format("{} (compute capability {}.{})", device.id,
                               device.compute_capability.major, device.compute_capability.minor);
  if (device.compute_capability.major == 10)
    asking.help_ =
        "without a GPU, 9.8 to 9.10 crash at compute capability 10.0, which 9.19 "
        "answers: PLIMSOLL_CUDNN names its folder";
  const auto line = asking.child_.listen(limit);
  if (!line) return asking.gone("loading it");
  const auto value = TRY(read_json(*line, "greeting"));
  Diagnostics faults;
  JsonObject object(value, "greeting", faults, true);
  if (object.has("code")) {
    return error(object.required_string("code"), object.required_string("message"), {},
                 object.required_string("help"));
  }
  asking.version_ = object.required_string("version");
  for (const JsonValue& each : object.required_list("libraries")) {
    JsonObject library(each, "greeting", faults);
    asking.libraries_.push_back({library.required_string("name"),
                                 library.required_string("version"),
                                 library.required_string("path")});
  }
  if (has_error(faults)) return tl::make_unexpected(faults);
  return asking;
}

tl::unexpected<Diagnostics> AskingChild::gone(const std::string& doing) {
  const std::string how = child_.how_it_ended();
  return error("E707", fmt::format("cuDNN {} {} {}, about {}", version_, how, doing, device_), {},
               help_);
}

Result<Cudnn::Listed> AskingChild::ask(const ConvQuestion& question) {
  JsonWriter out;
  out.begin_object();
  write_conv_question(out, question);
  out.end_object();
  const auto line = child_.ask(out.take(), limit_);
  if (!line) return gone(fmt::format("at the query '{}'", text_of(question)));
  const auto value = TRY(read_json(*line, "answer"));
  Diagnostics faults;
  JsonObject object(value, "answer", faults, true);
  Cudnn::Listed listed;
  listed.mode = object.required_string("mode");
  listed.error = object.optional_string("error").value_or("");
  ReadFields fields(object);
  fields("plans", listed.plans);
  if (has_error(faults)) return tl::make_unexpected(faults);
  return listed;
}

}  // namespace plimsoll
