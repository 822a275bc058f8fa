// Sound models, changed where it hurts: attributes, ranks, types, rewired nodes, nesting, names of
// our own. Whatever comes out is refused with a code or has an answer that adds up; nothing
// crashes, and nothing is a bug of ours (E9xx).
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "estimator/estimator.h"
#include "graph/base/embedded.h"
#include "hwdb/hwdb.h"
#include "tests/support/golden_memory.h"
#include "tests/support/import_support.h"
#include "tests/support/invariants.h"
#include "tests/support/mutate.h"
#include "tests/support/scratch.h"
#include "tests/support/tar_file.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

// The small ones, by name: some hundred thousand bytes of weights would be all the work.
std::vector<Message> sound_models() {
  std::map<std::string, std::string> files;  // of the goldens, packed
  for (const auto& [name, bytes] : read_tar(read_bytes(golden_path("onnx/ops.tar"))))
    files["ops/" + name] = bytes;
  for (const char* folder : {"families/", "train-ts/"}) {
    for (const auto& file :
         std::filesystem::directory_iterator(golden_path(std::string("onnx/") + folder)))
      files[folder + file.path().filename().string()] = read_bytes(file.path().string());
  }
  std::vector<Message> models;
  for (const auto& [name, packed] : files) {
    if (packed.size() >= 12'000) continue;
    const auto bytes = gunzip(packed, size_t{4} << 20);
    auto model = bytes ? Message::parse(*bytes, Kind::kModel) : std::nullopt;
    if (model) models.push_back(std::move(*model));
  }
  return models;
}

Request asked_of(Mutator& random, const std::string& model) {
  static constexpr std::string_view kFrameworks[] = {"pytorch", "pytorch", "pytorch",      "mxnet",
                                                     "theano",  "torch7",  "tensorflow-1", "ideal"};
  static constexpr Mode kModes[] = {Mode::kTrain, Mode::kTrain, Mode::kInference};
  static const PrecisionRow* const kPrecisions[] = {find_precision("fp32"), find_precision("fp32"),
                                                    find_precision("amp-fp16"),
                                                    find_precision("bf16")};
  Request asked;
  asked.model = model;
  asked.devices = {"tesla-t4"};
  asked.batch = static_cast<int64_t>(1 + random.pick(4));
  asked.framework = random.one_of(kFrameworks);
  asked.recipe.mode = random.one_of(kModes);
  asked.recipe.precision = random.one_of(kPrecisions);
  asked.recipe.loss = random.pick(2) ? Loss::kSum : Loss::kCrossEntropy;
  asked.limits.nodes = 20'000;  // many small models rather than few large ones
  return asked;
}

int64_t environment(const char* name, int64_t otherwise) {
  const char* value = std::getenv(name);
  return value ? std::strtoll(value, nullptr, 10) : otherwise;
}

}  // namespace

TEST_CASE("bad: a network whose outputs no input reaches says that nothing runs") {
  const auto hwdb = Hwdb::open({});
  REQUIRE(hwdb);
  const Scratch scratch;
  const auto says = [&](const Proto& output) {
    Request asked;
    asked.model = scratch.write("m.onnx", model_of({node("Relu", {"x"}, {"a"}), output}).bytes());
    asked.devices = {"tesla-t4"};
    asked.batch = 2;
    asked.recipe.mode = Mode::kInference;
    const auto estimated = estimate(asked, *hwdb);
    REQUIRE_MESSAGE(estimated, estimated.error().front().message);
    for (const std::string& fault : check_invariants(*estimated)) FAIL_CHECK(fault);
    return std::ranges::any_of(estimated->diagnostics,
                               [](const Diagnostic& d) { return d.code == "W236"; });
  };
  CHECK(says(constant("y", scalar("v", 3))));
  CHECK_FALSE(says(node("Tanh", {"a"}, {"y"})));
}

TEST_CASE("bad: mutated models are refused by name or have an answer that adds up") {
  const std::vector<Message> models = sound_models();
  REQUIRE(models.size() > 400);
  const auto hwdb = Hwdb::open({});
  REQUIRE(hwdb);
  const Scratch scratch;
  // By hand: PLIMSOLL_MUTATIONS=10000, and PLIMSOLL_MUTATION=N for one alone, kept as m.onnx here.
  const int64_t one = environment("PLIMSOLL_MUTATION", -1);
  const int64_t count = environment("PLIMSOLL_MUTATIONS", 600);
  int64_t answered = 0, refused = 0;
  for (int64_t seed = std::max<int64_t>(0, one); seed < (one < 0 ? count : one + 1); ++seed) {
    CAPTURE(seed);
    Mutator random(static_cast<uint64_t>(seed));
    Message model = random.one_of(models);
    random.mutate(model, random.one_of(models));
    const Request asked = asked_of(random, scratch.write("m.onnx", model.bytes()));
    if (one >= 0) std::filesystem::copy(asked.model, "m.onnx");
    const auto estimated = estimate(asked, *hwdb);
    if (estimated) {
      ++answered;
      for (const std::string& fault : check_invariants(*estimated)) FAIL_CHECK(fault);
      continue;
    }
    ++refused;
    REQUIRE_FALSE(estimated.error().empty());
    for (const Diagnostic& d : estimated.error()) {
      CAPTURE(d.message);
      CHECK(d.code.size() == 4);
      CHECK_FALSE(d.code.starts_with("E9"));
    }
  }
  // Neither so tame that nothing is refused, nor so wild that nothing comes through.
  if (one < 0) {
    CHECK(answered > count / 10);
    CHECK(refused > count / 10);
  }
}
