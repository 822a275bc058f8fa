#include "monitor/page.h"

#include <algorithm>
#include <cctype>

#include "estimator/app/html/estimate_sections.h"
#include "estimator/app/html/page.h"
#include "estimator/app/report/human.h"
#include "graph/base/escape.h"
#include "monitor/text.h"

namespace plimsoll::monitor {
namespace {

constexpr size_t kMostPhases = 300, kMostFaults = 100;
constexpr size_t kFactCards = 8;  // cards whose peaks are among the facts; the table has them all
constexpr size_t kCardName = 60, kCommandName = 80;

// The worst place of a figure that was predicted and measured.
std::optional<BandPlace> worst_place(const Summary& s) {
  if (!s.band) return {};
  std::vector<BandPlace> places;
  if (s.band->device && s.device_peak) places.push_back(place_in(*s.band->device, *s.device_peak));
  if (s.band->host) places.push_back(place_in(*s.band->host, s.host_peak));
  if (s.band_left) places.push_back(BandPlace::kAbove);
  for (const BandPlace worst : {BandPlace::kAbove, BandPlace::kBelow, BandPlace::kWithin}) {
    if (std::ranges::count(places, worst) > 0) return worst;
  }
  return {};
}

struct Headline {
  std::string verdict;
  std::string_view tone;  // a class of page.css
  std::string text;
};

Headline headline_of(const Summary& s) {
  const std::string after = fmt::format("after {}", human_seconds(s.seconds));
  if (const auto place = worst_place(s)) {
    constexpr std::pair<std::string_view, std::string_view> kPlaces[] = {
        {"WITHIN", "fits"}, {"ABOVE", "does_not_fit"}, {"BELOW", "may_fit"}};
    const auto& [where, tone] = kPlaces[static_cast<size_t>(*place)];
    return {fmt::format("{} THE PREDICTED RANGE", where), tone,
            fmt::format("{} {}", end_of(s), after)};
  }
  std::string end = end_of(s);
  for (char& c : end) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const bool well = s.ended && s.exit_status.value_or(0) == 0;
  return {end, well ? "fits" : s.ended ? "does_not_fit" : "may_fit", after};
}

void add_prediction(Markup& out, const char* what, const std::optional<Predicted>& predicted,
                    const std::optional<int64_t>& peak) {
  if (!predicted) return;
  const std::string place =
      peak ? fmt::format("the peak is {} it", name(place_in(*predicted, *peak))) : "not measured";
  write_fact(out, fmt::format("predicted {} memory", what), human_bytes(predicted->bytes),
             fmt::format("range {} to {}: {}", human_bytes(predicted->range.low),
                         human_bytes(predicted->range.high), place));
}

void write_end(Markup& out, const Summary& s) {
  const Headline headline = headline_of(s);
  out.open("header", {{"class", "answer"}});
  out.element("p", fmt::format("Watched: {}", shortened(s.command, kCommandName)));
  out.open("h1").element("span", headline.verdict,
                         {{"class", fmt::format("verdict {}", headline.tone)}});
  out.text(headline.text).close();
  out.open("dl", {{"class", "facts"}});
  write_fact(out, "host peak", human_bytes(s.host_peak),
             s.pss_peak
                 ? fmt::format("RSS {}, PSS {}", human_bytes(s.rss_peak), human_bytes(*s.pss_peak))
                 : fmt::format("RSS {}, PSS unknown", human_bytes(s.rss_peak)));
  write_fact(out, "CPU", fmt::format("{:.1f} s", s.cpu_seconds),
             s.processes == 1 ? "1 process" : fmt::format("{} processes at once", s.processes));
  for (size_t i = 0; i < std::min(s.devices.size(), kFactCards); ++i) {
    const DevicePeak& d = s.devices[i];
    write_fact(
        out, fmt::format("GPU {} peak", i), d.bytes ? human_bytes(*d.bytes) : "unknown",
        shortened(d.name, kCardName) + (s.basis == DeviceBasis::kCard ? ", the whole GPU" : ""));
  }
  if (s.band) {
    add_prediction(out, "GPU", s.band->device, s.device_peak);
    add_prediction(out, "host", s.band->host, s.host_peak);
  }
  out.close().close();
}

void add_share(HtmlTable& table, const std::optional<double>& share) {
  share ? table.percent(*share) : table.cell("-");
}

void add_bytes(HtmlTable& table, const std::optional<int64_t>& bytes) {
  bytes ? table.bytes(*bytes) : table.cell("-");
}

template <class T>
void add_scaled(HtmlTable& table, const std::optional<T>& value, double unit) {
  value ? table.cell(fmt::format("{:.4g}", static_cast<double>(*value) / unit),
                     static_cast<double>(*value))
        : table.cell("-");
}

void add_moments(Markup& out, const Moments& moments, size_t cards) {
  std::vector<std::string> titles;
  for (size_t i = 0; i < cards; ++i) {
    for (const char* what : {"", " busy", ", W", ", MHz"})
      titles.push_back(fmt::format("GPU {}{}", i, what));
  }
  std::vector<HtmlColumn> columns = {{"seconds", true}, {"samples", true}, {"host", true},
                                     {"PSS", true},     {"swap", true},    {"CPU", true}};
  for (const std::string& title : titles) columns.push_back({title, true});
  out.open("details").element("summary", "the figures of these charts");
  HtmlTable table(out,
                  "Over time: of memory and watts the most, of clocks the least, of loads the mean",
                  columns);
  for (const Moment& m : moments.all()) {
    table.row().cell(fmt::format("{:.2f}", m.seconds), m.seconds).count(m.samples);
    add_bytes(table.bytes(m.host), m.pss);
    table.bytes(m.swap).percent(m.cpu_share);
    for (size_t i = 0; i < cards; ++i) {
      const DeviceMoment none, &d = i < m.devices.size() ? m.devices[i] : none;
      add_bytes(table, d.bytes);
      add_share(table, d.utilisation);
      add_scaled(table, d.power_watts, 1);
      add_scaled(table, d.sm_clock_hz, 1e6);
    }
  }
  table.end();
  out.close();
}

void write_course(Markup& out, const Summary& s, const Moments& moments) {
  if (moments.all().empty()) return;
  open_section(out, "course", "Over time",
               s.band ? "The band is the predicted range; background colours are phases."
                      : "Background colours are phases, found from memory only.");
  size_t cards = 0;
  for (const Moment& m : moments.all()) cards = std::max(cards, m.devices.size());
  if (s.device_peak) write_chart(out, "watched_gpu_memory");
  write_chart(out, "watched_host_memory");
  write_chart(out, "watched_load");
  const auto told = [](const DevicePeak& d) { return d.power_watts.has_value(); };
  if (std::ranges::any_of(s.devices, told)) write_chart(out, "watched_power");
  if (moments.samples_each() > 1) {
    out.element(
        "p",
        fmt::format(
            "Of {} samples {} moments are shown, each of up to {}: the peak of no sample is lost. "
            "--out FILE has all samples.",
            s.samples, moments.all().size(), moments.samples_each()),
        {{"class", "notice"}});
  }
  add_moments(out, moments, cards);
  out.close();
}

void write_phases(Markup& out, const std::vector<Phase>& phases, size_t all) {
  if (phases.empty()) return;
  open_section(out, "phases", "Phases", "By the memory of the GPU if known, else of the host.");
  if (phases.size() < all) {
    out.element("p", fmt::format("The longest {} of {} phases.", phases.size(), all),
                {{"class", "notice"}});
  }
  HtmlTable table(out, "Phases of the run",
                  {{"kind"},
                   {"from, s", true},
                   {"to, s", true},
                   {"host peak", true},
                   {"GPU peak", true},
                   {"CPU", true},
                   {"GPU busy", true}},
                  {{"class", "sortable"}});
  for (const Phase& p : phases) {
    table.row().cell(name(p.kind));
    table.cell(fmt::format("{:.1f}", p.begin), p.begin).cell(fmt::format("{:.1f}", p.end), p.end);
    add_bytes(table.bytes(p.host_peak), p.device_peak);
    add_share(table.percent(p.cpu_share), p.gpu_utilisation);
  }
  table.end();
  out.close();
}

void write_cards(Markup& out, const Summary& s) {
  if (s.devices.empty()) return;
  open_section(out, "cards", "GPUs", "");
  HtmlTable table(out, "What each GPU showed",
                  {{"GPU"},
                   {"peak", true},
                   {"busy, mean", true},
                   {"most W", true},
                   {"least MHz", true},
                   {"most PCIe in, MB/s", true},
                   {"out, MB/s", true}});
  for (size_t i = 0; i < s.devices.size(); ++i) {
    const DevicePeak& d = s.devices[i];
    table.row().cell(fmt::format("{}: {}", i, shortened(d.name, kCardName)));
    add_bytes(table, d.bytes);
    add_share(table, d.utilisation);
    add_scaled(table, d.power_watts, 1);
    add_scaled(table, d.least_sm_clock_hz, 1e6);
    add_scaled(table, d.pcie_received_per_s, 1e6);
    add_scaled(table, d.pcie_sent_per_s, 1e6);
  }
  table.end();
  out.close();
}

void write_host(Markup& out, const Summary& s) {
  open_section(out, "host", "Host", "Of the process and all that descend from it.");
  HtmlTable table(out, "What the processes took", {{"what"}, {"figure", true}});
  const auto bytes = [&](const char* what, const std::optional<int64_t>& value) {
    add_bytes(table.row().cell(what), value);
  };
  const auto count = [&](const char* what, int64_t value) { table.row().cell(what).count(value); };
  bytes("peak, shared pages once", s.host_peak);
  bytes("peak of the sum of RSS", s.rss_peak);
  bytes("peak PSS", s.pss_peak);
  bytes("peak swap", s.swap_peak);
  count("processes at once, at most", s.processes);
  table.row().cell("CPU, seconds").cell(fmt::format("{:.2f}", s.cpu_seconds), s.cpu_seconds);
  count("minor page faults", s.minor_faults);
  count("major page faults", s.major_faults);
  bytes("read from storage", s.read_bytes);
  bytes("written to storage", s.written_bytes);
  table.end();
  out.close();
}

void write_remarks(Markup& out, const Summary& s) {
  open_section(out, "notes", "Notes", "");
  out.open("ul");
  out.element("li", fmt::format("GPU: {}", shortened(s.gpu_source, 400)));
  if (s.basis == DeviceBasis::kCard)
    out.element("li", "Memory of GPUs: " + std::string(kWholeCard) + ".");
  out.element("li", fmt::format("{} samples, {} missed; this monitor took {:.2f} % of a CPU.",
                                s.samples, s.missed, 100 * s.own_cpu_share));
  for (const std::string& fault : s.faults) out.element("li", shortened(fault, 400));
  out.close().close();
}

std::vector<Phase> longest(std::vector<Phase> phases) {
  if (phases.size() <= kMostPhases) return phases;
  const auto length = [](const Phase& p) { return p.begin - p.end; };
  std::ranges::nth_element(phases, phases.begin() + kMostPhases, {}, length);
  phases.resize(kMostPhases);
  std::ranges::sort(phases, {}, &Phase::begin);
  return phases;
}

}  // namespace

std::string to_page(const Summary& summary, const Moments& moments, const std::string& command) {
  Summary shown = summary;
  shown.phases = longest(summary.phases);
  shown.faults.resize(std::min(shown.faults.size(), kMostFaults));
  Markup body;
  write_end(body, shown);
  write_course(body, shown, moments);
  write_phases(body, shown.phases, summary.phases.size());
  write_cards(body, shown);
  write_host(body, shown);
  write_remarks(body, shown);
  return to_html(
      {.title = fmt::format("Watched: {}, {}", shortened(shown.command, kCardName), end_of(shown)),
       .body = body.take(),
       .json = to_json(shown, moments.all()),
       .command = command});
}

}  // namespace plimsoll::monitor
