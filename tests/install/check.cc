// Asked through the installed header: statuses, messages, the same JSON as the command's, threads.
//
//   check MODEL NAME=VALUE...   writes the answer's JSON, or nothing and its messages
//   check                       checks what it says of itself
#include <plimsoll/plimsoll.h>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

using plimsoll::api::Answer;
using plimsoll::api::Flags;

int faults = 0;

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  ++faults;
}

void check_refusal(const std::string& model, const Flags& flags, int status, const char* code) {
  const Answer answer = plimsoll::api::estimate(model, flags);
  check(answer.status == status, code);
  check(!answer.messages.empty() && answer.messages.back().code == code, code);
  check(answer.json.empty() && answer.device_bytes == 0, code);
}

void check_answers() {
  const Answer fits = plimsoll::api::estimate("builtin:alexnet", {{"gpu", "t4"}, {"batch", "8"}});
  check(fits.status == 0 && fits.verdict == plimsoll::api::Verdict::kFits, "it fits");
  check(fits.device_range.low <= fits.device_bytes, "bytes lie above the low end");
  check(fits.device_bytes <= fits.device_range.high, "bytes lie below the high end");
  check(fits.device_bytes < fits.usable_bytes, "what fits is less than what may be used");
  check(fits.step_range.low <= fits.step_ns && fits.step_ns <= fits.step_range.high, "a step");
  check(fits.samples_per_second > 0, "a pace");
  const Answer not_at_all = plimsoll::api::estimate(
      "builtin:alexnet", {{"gpu", "t4"}, {"batch", "8"}, {"mem", "300MiB"}});
  check(not_at_all.status == 1, "it does not fit");
  check(not_at_all.verdict == plimsoll::api::Verdict::kDoesNotFit, "nor does its range");
  const Answer frozen = plimsoll::api::estimate(
      "builtin:alexnet",
      {{"gpu", "t4"}, {"batch", "8"}, {"freeze", "*"}, {"train", "classifier.*"}});
  check(frozen.status == 0 && frozen.device_bytes < fits.device_bytes, "what is frozen costs less");
}

void check_refusals() {
  check_refusal("", {{"gpu", "t4"}}, 2, "E108");
  check_refusal("builtin:alexnet", {}, 2, "E109");
  check_refusal("builtin:alexnet", {{"gpu", "t4"}, {"batc", "8"}}, 2, "E101");
  check_refusal("builtin:alexnet", {{"gpu", "t4"}, {"strict", "yes"}}, 2, "E103");
  check_refusal("builtin:alexnet", {{"gpu", "t4"}, {"gpu", "l4"}}, 2, "E114");
  check_refusal("no-such-file.onnx", {{"gpu", "t4"}}, 4, "E601");
}

void check_threads() {
  std::vector<Answer> answers(4);
  std::vector<std::thread> threads;
  for (Answer& answer : answers)
    threads.emplace_back([&answer] {
      answer = plimsoll::api::estimate("builtin:resnet18", {{"gpu", "l4"}, {"batch", "16"}});
    });
  for (std::thread& thread : threads) thread.join();
  for (const Answer& answer : answers) {
    check(answer.status == 0 && answer.json == answers.front().json, "threads have equal answers");
  }
}

int write_json(int argc, char** argv) {
  Flags flags;
  for (int i = 2; i < argc; ++i) {
    const std::string flag = argv[i];
    const size_t at = flag.find('=');
    flags.emplace_back(flag.substr(0, at), at == flag.npos ? "" : flag.substr(at + 1));
  }
  const Answer answer = plimsoll::api::estimate(argv[1], flags);
  for (const plimsoll::api::Message& message : answer.messages)
    std::fprintf(stderr, "%s", message.text.c_str());
  std::printf("%s", answer.json.c_str());
  return answer.status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return write_json(argc, argv);
  check(!plimsoll::api::version().empty(), "it has a version");
  check_answers();
  check_refusals();
  check_threads();
  return faults == 0 ? 0 : 1;
}
