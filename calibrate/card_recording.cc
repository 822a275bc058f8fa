#include "calibrate/card_recording.h"

#include <fmt/format.h>

#include "calibrate/card_wire.h"
#include "graph/base/byte_source.h"
#include "graph/base/text.h"
#include "graph/base/try.h"
#include "graph/json/reader.h"

namespace plimsoll::calibrate {

Result<std::unique_ptr<Card>> RecordingCard::make(std::unique_ptr<Card> card,
                                                  const std::string& path) {
  auto file = TRY(JsonLinesFile::open(path, {.begins = {R"({"call":)"}, .kept = false}));
  if (file.lines().empty()) {
    TRY(file.append(facts_line(card->facts())));
  }
  return std::unique_ptr<Card>(new RecordingCard(std::move(card), std::move(file)));
}

// A full disk ends the run: a recording with holes is none.
template <class T>
Result<T> RecordingCard::kept(const std::string& line, Result<T>&& answer) {
  TRY(file_.append(line));
  return std::move(answer);
}

Result<std::vector<Offer>> RecordingCard::offers(const KernelAt& kernel) {
  auto answer = card_->offers(kernel);
  return kept(offers_line(kernel, answer), std::move(answer));
}

Result<std::vector<Sample>> RecordingCard::time(const KernelAt& kernel, size_t offer) {
  auto answer = card_->time(kernel, offer);
  return kept(time_line(kernel, offer, answer), std::move(answer));
}

Result<std::vector<Figure>> RecordingCard::figures() {
  auto answer = card_->figures();
  return kept(figures_line(answer), std::move(answer));
}

Result<std::unique_ptr<Card>> RecordedCard::open(const std::string& path) {
  const auto text = TRY(read_text(path));
  auto card = std::make_unique<RecordedCard>();
  std::string_view rest = text;
  for (int number = 1; !rest.empty(); ++number) {
    const std::string_view line = take_part(rest, '\n');
    if (trimmed(line).empty()) continue;
    TRY(card->read_line(line, fmt::format("{}, line {}", path, number)));
  }
  if (card->facts_.name.empty())
    return error("E501", "no recorded GPU", {.file = path, .line = 0, .node = {}});
  return card;
}

Result<void> RecordedCard::read_line(std::string_view text, const std::string& place) {
  const auto value = TRY(read_json(text, place));
  Diagnostics faults;
  JsonObject line(value, place, faults, true);
  const CardCall call = read_call(line);
  if (has_error(faults)) return tl::make_unexpected(faults);
  if (call.call == "facts") {
    auto facts = TRY(read_facts(line));
    facts_ = std::move(facts);
  }
  if (call.call == "offers") offers_[call.key()].push_back(calibrate::read_offers(line));
  if (call.call == "time") samples_[call.key()].push_back(read_samples(line));
  if (call.call == "figures") figures_[call.key()].push_back(read_figures(line));
  line.finish();
  if (has_error(faults)) return tl::make_unexpected(faults);
  return {};
}

template <class T>
Result<T> RecordedCard::next(Answers<T>& answers, const std::string& key) {
  const auto at = answers.find(key);
  if (at == answers.end()) return error("E723", "the recording has no such kernel");
  auto& queue = at->second;
  if (queue.size() == 1) return queue.front();
  Result<T> answer = std::move(queue.front());
  queue.pop_front();
  return answer;
}

Result<std::vector<Offer>> RecordedCard::offers(const KernelAt& kernel) {
  return next(offers_, CardCall{"offers", kernel, 0}.key());
}

Result<std::vector<Sample>> RecordedCard::time(const KernelAt& kernel, size_t offer) {
  return next(samples_, CardCall{"time", kernel, offer}.key());
}

Result<std::vector<Figure>> RecordedCard::figures() { return next(figures_, "figures"); }

}  // namespace plimsoll::calibrate
