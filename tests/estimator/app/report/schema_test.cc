// What the program writes is what its schemas say.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "estimator/app/report/json.h"
#include "estimator/app/report/largest_batch.h"
#include "estimator/app/report/schemas.h"
#include "estimator/app/search/largest_batch.h"
#include "estimator/app/sweep/read_sweep_plan.h"
#include "estimator/estimator.h"
#include "graph/config/model_config.h"
#include "hwdb/framework.h"
#include "hwdb/link.h"
#include "hwdb/measured/reader.h"
#include "tests/support/requests.h"
#include "tests/support/schema_fault.h"

using namespace plimsoll;
using nlohmann::json;
using plimsoll::test::request;
using plimsoll::test::schema_fault;

namespace {

json estimated(const Request& asked) { return json::parse(to_json(test::answer(asked))); }

}  // namespace

TEST_CASE("estimates of all kinds of models are as the schema says") {
  const json schema = json::parse(schema_text("estimate"));
  Request inference = request("builtin:squeezenet1_0", "rtx-4090");
  inference.recipe.mode = Mode::kInference;
  Request long_run = request("builtin:mlp", "a100", 7);
  long_run.epochs = 3;
  long_run.samples = 1000;
  Request lengths = request("builtin:bert-base", "a100", 7);
  lengths.lengths = {{{{"sequence", 128}}, 3}, {{{"sequence", 512}}, 1}};
  Request pictures = request("builtin:resnet50", "rtx-4090", 8);
  pictures.detail = true;
  const std::vector<Request> requests = {
      pictures,
      lengths,
      request("builtin:alexnet", "tesla-t4"),
      request("builtin:lstm-lm", "quadro-p4000"),
      request("builtin:dcgan", "h200"),
      inference,
      long_run,
  };
  for (const Request& asked : requests) {
    CAPTURE(asked.model);
    const json document = estimated(asked);
    CHECK(schema_fault(schema, document) == "");
    // The check can fail:
    json other = document;
    other["result"]["memory"]["device_bytes"] = 1.5;
    CHECK(schema_fault(schema, other) != "");
    other = document;
    other["result"]["time"].erase("step_ns");
    CHECK(schema_fault(schema, other) != "");
  }
}

TEST_CASE("what pages add to an estimate is as the schema says") {
  const json schema = json::parse(schema_text("estimate"));
  Request pictures = request("builtin:alexnet", "rtx-4090", 8);
  pictures.detail = true;
  const auto batches = largest_batch(pictures, test::hwdb(), {.multiple = 64, .max = 512});
  REQUIRE(batches);
  JsonOptions options{.batches = &*batches, .unbeaten = true};
  json document = json::parse(to_json(test::answer(pictures), options));
  CHECK(document["result"]["batches"]["rounds"].size() > 3);
  CHECK(schema_fault(schema, document) == "");
  options.lists = JsonOptions::Lists::kNeither;
  CHECK(schema_fault(schema, json::parse(to_json(test::answer(pictures), options))) == "");
  document["result"]["batches"].erase("safe");
  CHECK(schema_fault(schema, document) != "");
}

TEST_CASE("a layer's passes say what bounds them") {
  const json e = estimated(request("builtin:alexnet", "tesla-p100"));
  const json& layers = e["result"]["layers"];
  const auto row = [&](const std::string& node) {
    return *std::ranges::find_if(layers, [&](const json& l) { return l["node"] == node; });
  };
  const json first = row("features.0");
  CHECK(first["algorithm"]["forward"].is_string());
  CHECK(first["algorithm"]["backward_data"].is_null());  // nobody asks for the image's gradient
  CHECK(first["bound_by"]["backward_data"].is_null());
  CHECK(first["bound_by"]["backward_weights"].is_string());
  const json pool = row("features.2");
  CHECK(pool["algorithm"]["forward"].is_null());
  CHECK(pool["bound_by"]["forward"] == "dram");
  for (const json& layer : layers) {
    for (const auto& [pass, fraction] : layer["fraction_of_peak"].items()) {
      CHECK(fraction.is_null() == layer["bound_by"][pass].is_null());
      if (!fraction.is_null()) CHECK((fraction > 0 && fraction <= 1));
    }
  }
}

TEST_CASE("sums over layers are the totals") {
  const json e = estimated(request("builtin:alexnet", "tesla-t4"));
  int64_t parameters = 0, weights = 0, gradients = 0;
  for (const json& layer : e["result"]["layers"]) {
    parameters += layer["parameters"].get<int64_t>();
    weights += layer["weight_bytes"].get<int64_t>();
    gradients += layer["gradient_bytes"].get<int64_t>();
  }
  CHECK(parameters == e["result"]["memory"]["parameters"]["count"]);
  CHECK(weights == e["result"]["memory"]["parameters"]["bytes"]);
  CHECK(gradients == e["result"]["memory"]["gradients_bytes"]);
}

TEST_CASE("device files are as the schema says, which refuses what the reader does") {
  const json schema = json::parse(schema_text("device"));
  const Hwdb hwdb;
  for (const std::string& id : hwdb.device_ids()) {
    CAPTURE(id);
    CHECK(schema_fault(schema, json::parse(*hwdb.read("devices/" + id + ".json"))) == "");
  }
  const json card = json::parse(*hwdb.read("devices/a100-sxm-40gb.json"));
  const auto both_refuse = [&](const json& other) {
    return schema_fault(schema, other) != "" && !read_device(other.dump(), "card.json", {});
  };
  for (const auto& [key, value] : card.items()) {
    const std::string member = key;
    CAPTURE(member);
    if (key == "aliases" || key == "names" || key == "mig") continue;
    json other = card;
    other.erase(key);
    CHECK(both_refuse(other));
    other = card;
    other[key + "s"] = value;
    CHECK(both_refuse(other));
    if (!value.contains("source")) continue;
    other = card;
    other[key]["source"] = "";
    CHECK(both_refuse(other));
    other[key]["value"] = nullptr;
    CHECK(both_refuse(other));
  }
}

namespace {

// Each file of a folder of the database is as the schema says.
void check_files(const std::string& name, const std::vector<std::string>& ids) {
  const json schema = json::parse(schema_text(name));
  for (const std::string& id : ids) {
    CAPTURE(id);
    CHECK(schema_fault(schema, json::parse(*test::hwdb().read(name + "s/" + id + ".json"))) == "");
  }
}

// Without one of its members, or with another in its place, schema and reader are of one mind.
template <class Read>
void check_members(const std::string& name, const std::string& id,
                   const std::vector<std::string_view>& spared, Read read) {
  const json schema = json::parse(schema_text(name));
  const json file = json::parse(*test::hwdb().read(name + "s/" + id + ".json"));
  const auto check_both = [&](const json& other) {
    CHECK((schema_fault(schema, other) == "") ==
          read(other.dump(), name + ".json", id).has_value());
  };
  check_both(file);
  for (const auto& item : file.items()) {
    const std::string member = item.key();
    CAPTURE(member);
    if (std::ranges::find(spared, member) != spared.end()) continue;
    json other = file;
    other.erase(member);
    check_both(other);
    other[member] = 7;
    check_both(other);
    other[member] = item.value();
    if (!item.value().contains("source")) continue;
    other[member]["source"] = "";
    check_both(other);
  }
}

}  // namespace

TEST_CASE("files of links and frameworks are as their schemas say, which refuse what readers do") {
  check_files("link", test::hwdb().link_ids());
  check_members("link", "nvlink-2", {}, read_link);
  check_files("framework", test::hwdb().framework_ids());
  // The reader knows which figures go together.
  check_members("framework", "pytorch-2",
                {"host_base", "host_worker", "host_dataset_copies", "batches_per_worker"},
                read_framework);
}

TEST_CASE("model configs are as their schema says, which refuses what the reader does") {
  const json schema = json::parse(schema_text("model-config"));
  for (const char* name : {"gnmt", "googlenet-multigpu", "dcgan"}) {
    CAPTURE(name);
    std::ifstream in(PLIMSOLL_SOURCE_DIR + fmt::format("/graph/builtin/{}.json", name));
    CHECK(schema_fault(schema, json::parse(in)) == "");
  }
  const json sound = json::parse(R"({"schema": "plimsoll.model-config", "version": 1, "name": "net",
      "parameters": {"act": {"one_of": ["relu", "tanh"]}},
      "inputs": [{"name": "x", "shape": ["batch", 8]}],
      "layers": [{"name": "fc", "type": "linear", "out": 4}, {"type": "act"}], "loss": "mse"})");
  const auto both = [&](const json& config, bool taken) {
    Diagnostics warnings;
    CHECK(load_model_config(config.dump(), "net.json", {}, warnings).has_value() == taken);
    CHECK((schema_fault(schema, config) == "") == taken);
  };
  both(sound, true);
  for (const auto& wrong :
       {std::pair<const char*, json>{"/version", 0},
        {"/loss", "cross entropy"},
        {"/inputs/0/dtype", "f33"},
        {"/inputs/0/shape", 8},
        {"/layers/0", {{"type", "linear"}}},
        {"/layers/0/outs", 4},
        {"/layers/0/when", true},
        {"/meta", {{"unit", 1}}},
        {"/meta", {{"recipe", {{"optimizer", "adamm"}, {"source", "a paper"}}}}},
        {"/meta", {{"dataset", {{"name", "few"}, {"samples", 0}}}}},
        {"/parameters/act", {{"one_of", json::array({1})}}}}) {
    const char* const place = wrong.first;
    CAPTURE(place);
    json other = sound;
    other[json::json_pointer(place)] = wrong.second;
    both(other, false);
  }
}

TEST_CASE("the largest batch is as its schema says") {
  const json schema = json::parse(schema_text("max-batch"));
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb);
  const auto largest = largest_batch(request("builtin:alexnet", "tesla-t4", 8), *hwdb, {.max = 64});
  REQUIRE(largest);
  json document = json::parse(to_json(*largest));
  CHECK(schema_fault(schema, document) == "");
  document["result"]["rounds"][0].erase("step_ns");
  CHECK(schema_fault(schema, document) != "");
}

TEST_CASE("a plan's schema takes the plans that the reader takes") {
  const json schema = json::parse(schema_text("plan"));
  for (
      const char* plan :
      {R"({"model": "m.onnx", "parameters": {"batch": [1, 2], "precision": {"values": ["fp32"]}}})",
       R"({"parameters": {"batch": {"min": 32, "max": 256, "step": 32}, "gpu": {"value": "l4"}}})",
       R"({"method": "grid", "parameters": {"batch": 8, "lr": {"distribution": "log_uniform_values",
            "min": 0.0001, "max": 0.1}}})",
       R"({"model": ["a.onnx", "b.onnx"], "parameters": {"batch": [1, 2]}, "constraints": "batch > 1",
            "objective": {"name": "step_ns"}})",
       R"({"batch": {"name": "IntDistribution", "attributes": {"low": 1, "high": 4}}, "run_cap": 3})",
       R"({"hydra": {"sweeper": {"params": {"batch": "1,2"}}}, "gpu": "l4"})"}) {
    CAPTURE(plan);
    CHECK(schema_fault(schema, json::parse(plan)) == "");
    CHECK(read_sweep_plan(plan, "plan.json", {}));
  }
  CHECK(schema_fault(schema, json::parse(R"({"model": "m.onnx"})")) != "");
  CHECK(schema_fault(schema, json::parse(R"({"parameters": {"batch": {"valus": [1]}}})")) != "");
}

TEST_CASE("the schema of measured runs says what warnings of sources and settings mean") {
  const json keys = json::parse(schema_text("measured-run"))["definitions"]["record"]["properties"];
  const auto description = [&](const char* key) {
    return keys.at(key).at("description").get<std::string>();
  };
  for (const char* flag : {"suspect_", "near_capacity", "do_not_use_for_fitting"})
    CHECK(description("flags").find(flag) != std::string::npos);
  CHECK(description("no_sync").starts_with("As the setting no-sync: "));
  CHECK(description("lora_form").starts_with("As the setting lora-form: "));
}

TEST_CASE("measured runs are as their schema says, which refuses what the reader does") {
  const json schema = json::parse(schema_text("measured-run"));
  size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(PLIMSOLL_SOURCE_DIR "/tests/measured")) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream in(entry.path());
    const json document = json::parse(in);
    if (!document.contains("records") || document.value("kind", "") == "workspace") continue;
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    CHECK(schema_fault(schema, document) == "");
    ++files;
  }
  CHECK(files > 10);
  const json sound = {{"kind", "model"}, {"device", "t4"}, {"total_ms", 3.5}, {"batch", 32}};
  const auto both = [&](const json& record, bool taken) {
    const std::string text = json{{"records", {record}}}.dump();
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    const ByteSource source = ByteSource::of("runs", {bytes, bytes + text.size()});
    CHECK(read_measured(source, [](MeasuredRun&&) {}).has_value() == taken);
    CHECK((schema_fault(schema, json::parse(text)) == "") == taken);
  };
  both(sound, true);
  for (const auto& wrong : {std::pair<const char*, json>{"total_ms", 0},
                            {"total_ms", "3"},
                            {"batch", -1},
                            {"workspace_bytes", -1},
                            {"kind", "modell"},
                            {"inplace", 1},
                            {"out", 3}}) {
    const char* const key = wrong.first;
    CAPTURE(key);
    json other = sound;
    other[key] = wrong.second;
    both(other, false);
  }
}
