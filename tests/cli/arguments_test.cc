// Values that are empty, of switches, and numbers that are not decimal.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/support/run_plimsoll.h"

using namespace plimsoll::test;

TEST_CASE("cli: a value that is left empty is an error that names its flag, and eats no other") {
  if (skipped()) return;
  const Scratch scratch;
  const std::vector<std::vector<std::string>> all = {{"--html=", "--batch=512"},
                                                     {"--html", "--batch=512"},
                                                     {"--html", ""},
                                                     {"--html="},
                                                     {"--batch=", "--html=x"},
                                                     {"--dim=", "--batch=512"},
                                                     {"--freeze", "--batch", "512"},
                                                     {"--checkpoint="},
                                                     {"--error-format=", "--batch=512"}};
  for (std::vector<std::string> flags : all) {
    const std::string name = flags.front().substr(0, flags.front().find('='));
    CAPTURE(flags.front());
    flags.insert(flags.begin(), {"estimate", "builtin:resnet50", "--gpu", "t4"});
    const Ran ran = run_plimsoll(flags, {.folder = scratch.path("")});
    CAPTURE(ran.err);
    CHECK(ran.status == 2);
    CHECK(says(ran, name));
    CHECK(ran.out.empty());
  }
  CHECK(std::filesystem::is_empty(scratch.path("")));
}

TEST_CASE("cli: a switch takes no number") {
  if (skipped()) return;
  for (const char* flag : {"--weight-decay=0.01", "--weight-decay=1e-4", "--compile=2",
                           "--strict=yes", "--json=", "--cuda-graphs=0x1"}) {
    CAPTURE(flag);
    const Ran ran = run_plimsoll({"estimate", "builtin:mlp", "--gpu", "t4", flag});
    CHECK(ran.status == 2);
    CHECK(says(ran, "[E103]"));
  }
  const auto peak = [](const char* flag) {
    return run_plimsoll({"estimate", "builtin:mlp", "--gpu", "t4", "--optimizer", "sgd-loop", flag})
        .out;
  };
  CHECK(peak("--weight-decay=true") == peak("--weight-decay"));
  CHECK(peak("--weight-decay=false") != peak("--weight-decay"));
}

TEST_CASE("cli: numbers are decimal and whole") {
  if (skipped()) return;
  const Scratch scratch;
  scratch.write("p.yaml",
                "model: builtin:mlp\nmethod: random\nrun_cap: 2\n"
                "parameters: {gpu: [t4], batch: [1, 8, 16]}\n");
  const std::vector<std::vector<std::string>> all = {
      {"--seed", "010"}, {"--seed=0x10"},      {"--seed=1e3"},   {"--seed=-1"},
      {"--seed=1.0"},    {"--threads", "010"}, {"--threads=0x2"}};
  for (std::vector<std::string> flags : all) {
    CAPTURE(flags.back());
    flags.insert(flags.begin(), {"sweep", "p.yaml"});
    const Ran ran = run_plimsoll(flags, {.folder = scratch.path("")});
    CHECK(ran.status == 2);
    CHECK(says(ran, "[E103]"));
  }
  CHECK(run_plimsoll({"sweep", "p.yaml", "--seed", "10"}, {.folder = scratch.path("")}).status ==
        0);
}

TEST_CASE("cli: what stands behind -- is an argument, and none is dropped") {
  if (skipped()) return;
  for (const std::vector<std::string>& behind :
       std::vector<std::vector<std::string>>{{"--batch", "8"}, {"x"}, {"--html", "x.html"}}) {
    std::vector<std::string> words = {"estimate", "builtin:mlp", "--gpu", "t4", "--"};
    words.insert(words.end(), behind.begin(), behind.end());
    const Ran ran = run_plimsoll(words);
    CHECK(ran.status == 2);
    CHECK(says(ran, "unknown argument " + behind.front()));
    CHECK(says(ran, "[E101]"));
  }
  CHECK(run_plimsoll({"estimate", "--gpu", "t4", "--", "builtin:mlp"}).status == 0);
}

TEST_CASE("cli: an image's size and a side of it contradict each other") {
  if (skipped()) return;
  for (const char* side : {"height=256", "width=256", "height=192"}) {
    const Ran ran = run_plimsoll(
        {"estimate", "builtin:resnet18", "--gpu", "t4", "--image", "224", "--dim", side});
    CHECK(ran.status == 2);
    CHECK(says(ran, "[E114]"));
  }
  CHECK(run_plimsoll({"estimate", "builtin:resnet18", "--gpu", "t4", "--image", "224", "--dim",
                      "height=224"})
            .status == 0);
}

TEST_CASE("cli: a precision that may be one of two is asked back") {
  if (skipped()) return;
  for (const auto& [word, says_then] :
       {std::pair("mixed", "amp-bf16, or amp-fp16"), std::pair("bfloat16", "bf16, or amp-bf16"),
        std::pair("float16", "fp16, or amp-fp16"), std::pair("half", "fp16")}) {
    const Ran ran = run_plimsoll({"estimate", "builtin:mlp", "--gpu", "t4", "--precision", word});
    CHECK(ran.status == 2);
    CHECK(says(ran, std::string("did you mean ") + says_then));
  }
}

TEST_CASE("cli: a loader that decodes on the card is refused with what to do") {
  if (skipped()) return;
  for (const char* loader : {"dali", "gpu", "nvjpeg"}) {
    const Ran ran = run_plimsoll({"estimate", "builtin:mlp", "--gpu", "t4", "--loader", loader});
    CHECK(ran.status == 2);
    CHECK(says(ran, "not modelled"));
    CHECK(says(ran, "--reserve 2GiB"));
  }
}
